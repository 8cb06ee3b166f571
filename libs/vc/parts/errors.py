"""Errors while a part is obtained or started.

Each message is a whole sentence that names the part and the fix. The command line prints it without
a traceback, and a test shows it as its skip reason.
"""


class PartError(Exception):
    """An error with a sentence for the user. The subclass shows at which step it happened."""


class PartMissingError(PartError):
    """The part is not available, and this machine cannot get it."""


class BuildFailedError(PartError):
    """A download or build failed. The message names its log."""


class StartFailedError(PartError):
    """The server was started but did not become ready.

    The message ends with the tail of its log.
    """
