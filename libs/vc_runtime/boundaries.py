"""Where something that others wrote enters: the names of the boundaries in problem rows and metrics."""

from typing import Final

DECODE: Final = "decode"
PROJECT: Final = "project"
APPLY: Final = "apply"
DECIDE: Final = "decide"
WRITE: Final = "write"
