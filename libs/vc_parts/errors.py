"""What can go wrong while a part is got or started.

Each message is one whole sentence that names the part and the way out: the command line prints it without
a traceback, and a test shows it as the reason why it was skipped.
"""


class PartError(Exception):
    """A sentence for the user; the classes below only say at which step it happened."""


class PartMissingError(PartError):
    """The part is not here and this machine has no way to get it."""


class BuildFailedError(PartError):
    """A download or build ran and failed; the message names its log."""


class StartFailedError(PartError):
    """The server was started and did not become ready; the message ends with the tail of its log."""
