"""Error responses of an API server.

There are three kinds of failure: retry the same request (`temporary`: overloaded, broken,
unreachable), read again and decide again (conflict, gone), or give up and report it (invalid,
forbidden).
"""

from typing import ClassVar


class ClusterError(Exception):
    """An error response; `code` and `reason` are those of the API."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"
    temporary: ClassVar[bool] = False
    """Whether the same request may succeed later without a new decision."""

    def __init__(self, message: str, *, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or {}

    @property
    def namespace_terminating(self) -> bool:
        """Whether the namespace is being deleted; the same request will never succeed there."""
        causes = self.details.get("causes")
        named = isinstance(causes, list) and any(
            isinstance(cause, dict) and cause.get("reason") == "NamespaceTerminating"
            for cause in causes
        )
        # Some responses have only the message and not the cause.
        return named or "because it is being terminated" in self.message


class BadRequestError(ClusterError):
    """The request cannot be parsed."""

    code = 400
    reason = "BadRequest"


class UnauthorizedError(ClusterError):
    """The credentials are missing or invalid."""

    code = 401
    reason = "Unauthorized"


class ForbiddenError(ClusterError):
    """Not allowed: RBAC, quota, or a namespace that is being deleted."""

    code = 403
    reason = "Forbidden"


class NotFoundError(ClusterError):
    """The object or resource does not exist."""

    code = 404
    reason = "NotFound"


class AlreadyExistsError(ClusterError):
    """An object of that name exists."""

    code = 409
    reason = "AlreadyExists"


class ConflictError(ClusterError):
    """The object has changed, or a precondition does not hold: read it again."""

    code = 409
    reason = "Conflict"


class GoneError(ClusterError):
    """The resourceVersion or continue token is too old: relist."""

    code = 410
    reason = "Expired"


class TooLargeError(ClusterError):
    """The body is larger than the server accepts."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaTypeError(ClusterError):
    """The server does not support the media type of a patch or body."""

    code = 415
    reason = "UnsupportedMediaType"


class InvalidError(ClusterError):
    """The object is invalid; the message names the field, the value and the fix."""

    code = 422
    reason = "Invalid"


class TooManyRequestsError(ClusterError):
    """The server is overloaded or refuses an eviction; retry after `retry_after_seconds`."""

    code = 429
    reason = "TooManyRequests"
    temporary = True

    def __init__(
        self,
        message: str,
        *,
        retry_after_seconds: float = 1.0,
        details: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.retry_after_seconds = retry_after_seconds

    @property
    def by_budget(self) -> bool:
        """Whether a disruption budget refused an eviction; the server is not overloaded."""
        causes = self.details.get("causes")
        return isinstance(causes, list) and any(
            isinstance(cause, dict) and cause.get("reason") == "DisruptionBudget"
            for cause in causes
        )


class ServerError(ClusterError):
    """The server failed, timed out or could not be reached;
    whether the write was applied is unknown.
    """

    temporary = True


class UnavailableError(ServerError):
    """No response in time, no connection, or a server that reports itself unavailable.

    This does not concern the request itself, which may be repeated any number of times.
    """

    code = 503
    reason = "ServiceUnavailable"


class NoDateError(ServerError):
    """The server answered without a usable date."""
