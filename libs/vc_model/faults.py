"""What an exception says to people: never an empty text.

`str(TimeoutError())` is empty, and so is that of many library errors that are raised without a
message; a reason made of it says nothing. A reason that is made from an exception uses `describe`.
"""

from typing import Final

_WITHOUT_MESSAGE: Final = {
    "CancelledError": "was cancelled",
    "IncompleteReadError": "the connection was closed in the middle of an answer",
    "TimeoutError": "no answer in time",
}
"""By the type's name, so that no library is imported for it."""

_DEPTH_MAX: Final = 8
"""How far causes and groups are followed."""


def describe(error: BaseException) -> str:
    """Its message; without one its cause's; at last the sort of fault."""
    return _describe(error, _DEPTH_MAX)


def _describe(error: BaseException, depth: int) -> str:
    if isinstance(error, BaseExceptionGroup) and depth:
        return _describe(error.exceptions[0], depth - 1)
    if text := str(error).strip():
        return text
    for sort in type(error).__mro__:
        if sort.__name__ in _WITHOUT_MESSAGE:
            return _WITHOUT_MESSAGE[sort.__name__]
    cause = error.__cause__ or error.__context__
    if cause is not None and depth:
        return f"{type(error).__name__}: {_describe(cause, depth - 1)}"
    return type(error).__name__
