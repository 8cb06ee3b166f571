"""Errors with a message for users and an exit code for scripts."""

from typing import Final

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
"""Also the exit code of argparse."""
EXIT_INTERRUPTED: Final = 130

HTTP_UNAUTHORIZED: Final = 401
HTTP_FORBIDDEN: Final = 403
HTTP_NOT_FOUND: Final = 404
HTTP_GONE: Final = 410


class CtlError(Exception):
    """An error that a user can act on. It is shown without a traceback."""

    exit_code = EXIT_FAILED


class UsageError(CtlError):
    """The command line is invalid."""

    exit_code = EXIT_USAGE


class NoClusterError(CtlError):
    """No cluster is configured, or it does not respond."""


class ApiError(CtlError):
    """The API server rejected the request. Its message is shown to the user."""

    def __init__(self, message: str, *, code: int, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
