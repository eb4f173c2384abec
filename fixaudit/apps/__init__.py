"""What web applications do when they start: their middleware, routes and error handlers, in run order.

`run` follows a program the way it starts; `express` and `asgi` say what a framework's calls mean; `leaks` reads error
handlers; `flatten` puts mounted routers where they run.
"""
