"""Names of the boundaries where foreign input enters, as used in problem rows and metrics."""

from typing import Final

DECODE: Final = "decode"
PROJECT: Final = "project"
APPLY: Final = "apply"
DECIDE: Final = "decide"
WRITE: Final = "write"
