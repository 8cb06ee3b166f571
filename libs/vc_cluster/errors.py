"""What an API server may answer instead of what was asked for.

Three kinds of failure, told apart by `temporary`: try the same again (busy, broken, unreachable),
look again and decide anew (conflict, gone), or give up and say so (invalid, forbidden).
"""

from typing import ClassVar


class ClusterError(Exception):
    """An answer that is an error; `code` and `reason` are the API's."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"
    temporary: ClassVar[bool] = False
    """Whether the same request may succeed later without anything being decided anew."""

    def __init__(self, message: str, *, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or {}

    @property
    def namespace_terminating(self) -> bool:
        """Whether the namespace is being deleted: the same request never succeeds there."""
        causes = self.details.get("causes")
        named = isinstance(causes, list) and any(
            isinstance(cause, dict) and cause.get("reason") == "NamespaceTerminating"
            for cause in causes
        )
        return named or "because it is being terminated" in self.message


class BadRequestError(ClusterError):
    """The request cannot be read."""

    code = 400
    reason = "BadRequest"


class UnauthorizedError(ClusterError):
    """Nobody we know."""

    code = 401
    reason = "Unauthorized"


class ForbiddenError(ClusterError):
    """Not allowed: rights, quota, or a namespace that is being deleted."""

    code = 403
    reason = "Forbidden"


class NotFoundError(ClusterError):
    """There is no such object or resource."""

    code = 404
    reason = "NotFound"


class AlreadyExistsError(ClusterError):
    """The name is taken."""

    code = 409
    reason = "AlreadyExists"


class ConflictError(ClusterError):
    """The object has changed, or a precondition does not hold: look again."""

    code = 409
    reason = "Conflict"


class GoneError(ClusterError):
    """The resourceVersion or continue token is too old: list anew."""

    code = 410
    reason = "Expired"


class TooLargeError(ClusterError):
    """The body is larger than the server takes."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaTypeError(ClusterError):
    """A patch or body of a type the server does not take."""

    code = 415
    reason = "UnsupportedMediaType"


class InvalidError(ClusterError):
    """The object breaks a rule; the message names the field, the value and the fix."""

    code = 422
    reason = "Invalid"


class TooManyRequestsError(ClusterError):
    """Come back later."""

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
        """Whether a disruption budget keeps a pod: the server is not busy, and means this one pod."""
        causes = self.details.get("causes")
        return isinstance(causes, list) and any(
            isinstance(cause, dict) and cause.get("reason") == "DisruptionBudget"
            for cause in causes
        )


class ServerError(ClusterError):
    """The server failed, timed out or could not be reached; whether it acted is unknown."""

    temporary = True


class UnavailableError(ServerError):
    """No answer in time, no connection, or a server that says that it cannot now: it is slow or away.

    That says nothing about the request, which may be sent again as often as it takes.
    """

    code = 503
    reason = "ServiceUnavailable"


class NoDateError(ServerError):
    """The server answered, but not what time it is."""
