"""Describes exceptions for users, never with an empty text.

`str(TimeoutError())` is empty, as are the texts of many library errors that are raised without a
message. A reason that is built from an exception uses `describe`.
"""

from typing import Final

_WITHOUT_MESSAGE: Final = {
    "CancelledError": "was cancelled",
    "IncompleteReadError": "the connection was closed in the middle of an answer",
    "TimeoutError": "no answer in time",
}
"""By the name of the type, so that no library must be imported."""

_DEPTH_MAX: Final = 8
"""How far causes and groups are followed."""


def describe(error: BaseException) -> str:
    """The exception's message; without one a known text for its type,
    else that of its cause, else the type's name.
    """
    return _describe(error, _DEPTH_MAX)


def _describe(error: BaseException, depth: int) -> str:
    # The text of a group only counts its members; the first one has the cause.
    if isinstance(error, BaseExceptionGroup) and depth:
        return _describe(error.exceptions[0], depth - 1)
    if text := str(error).strip():
        return text
    # Look through the base classes too: libraries subclass TimeoutError.
    for sort in type(error).__mro__:
        if sort.__name__ in _WITHOUT_MESSAGE:
            return _WITHOUT_MESSAGE[sort.__name__]
    cause = error.__cause__ or error.__context__
    if cause is not None and depth:
        return f"{type(error).__name__}: {_describe(cause, depth - 1)}"
    return type(error).__name__
