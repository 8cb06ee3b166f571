"""What can go wrong, as one sentence for a person and an exit code for a script."""

from typing import Final

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
"""Also what argparse exits with."""
EXIT_INTERRUPTED: Final = 130

HTTP_UNAUTHORIZED: Final = 401
HTTP_FORBIDDEN: Final = 403
HTTP_NOT_FOUND: Final = 404
HTTP_GONE: Final = 410


class CtlError(Exception):
    """Something a person can act on; never shown with a traceback."""

    exit_code = EXIT_FAILED


class UsageError(CtlError):
    """The command line itself cannot be used."""

    exit_code = EXIT_USAGE


class NoClusterError(CtlError):
    """There is no cluster to ask, or it does not answer."""


class ApiError(CtlError):
    """The API server said no; its message is what people need to see."""

    def __init__(self, message: str, *, code: int, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
