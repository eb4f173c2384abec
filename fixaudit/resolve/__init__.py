"""Resolution: what an identifier means, in its file and across one import.

`names.Resolver` follows expressions to `Package`, `Definition` or `Opaque`; `values.value_of` evaluates them to what
relations say of arguments and options; `settings` knows the fields of settings classes.
Nothing here knows of relations' rows, rules or fixes.
"""

from fixaudit.resolve.names import FAR, NEAR, Resolver
from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.resolve.values import env_key, value_of

__all__ = ("FAR", "NEAR", "Definition", "Frame", "Opaque", "Package", "Resolver", "Thing", "env_key", "value_of")
