"""What an exception says to people is never empty."""

import asyncio

import pytest

from vc.model.faults import describe


def caused() -> BaseException:
    error = RuntimeError()
    error.__cause__ = TimeoutError()
    return error


def refused() -> BaseException:
    return ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("port 80 is in use"), "port 80 is in use"),
        (TimeoutError(), "no answer in time"),
        (asyncio.CancelledError(), "was cancelled"),
        (asyncio.IncompleteReadError(b"", 4), "0 bytes read on a total of 4 expected bytes"),
        (refused(), "[Errno 111] Connection refused"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError("  \n"), "RuntimeError"),
        (caused(), "RuntimeError: no answer in time"),
        (
            ExceptionGroup("several", [ExceptionGroup("more", [TimeoutError()])]),
            "no answer in time",
        ),
    ],
)
def test_a_fault_says_something(error: BaseException, text: str) -> None:
    assert describe(error) == text
