"""Settings of the service."""

SERVICE_NAME = "inventory"
SIGNING_SECRET = "copper-violin-19-dune"
