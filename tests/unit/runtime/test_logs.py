"""Log output: our records always, those of a library once per period."""

import io
import logging

from vc.runtime.hosting.logs import REPEAT_SECONDS, REPEATS_KEPT_MAX, LineFormatter, Seldom

STARTED = 1_800_000_000.0


class Heard:
    """A logger's output, with a clock that is turned by hand."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self._handler = logging.StreamHandler(self._text)
        self._handler.setFormatter(LineFormatter(colour=False))
        self._handler.addFilter(Seldom())
        self.now = STARTED

    def say(self, logger: str, message: str, *args: object) -> None:
        record = logging.LogRecord(logger, logging.ERROR, "", 0, message, args, None)
        record.created = self.now
        self._handler.handle(record)

    def lines(self) -> list[str]:
        return [line.split(": ", 1)[1] for line in self._text.getvalue().splitlines()]


def test_a_library_says_the_same_once_per_period_and_tells_how_often_it_wanted_to() -> None:
    heard = Heard()
    for node in range(5):
        heard.say("aiokafka", "cannot connect to node %d", node)
    heard.now += REPEAT_SECONDS
    heard.say("aiokafka", "cannot connect to node %d", 7)
    assert heard.lines() == [
        "cannot connect to node 0",
        "cannot connect to node 7 (and 4 times before)",
    ]


def test_different_messages_and_different_libraries_do_not_hide_one_another() -> None:
    heard = Heard()
    heard.say("aiokafka", "a")
    heard.say("aiokafka", "b")
    heard.say("asyncio", "a")
    assert heard.lines() == ["a", "b", "a"]


def test_our_own_lines_always_pass() -> None:
    heard = Heard()
    for _ in range(3):
        heard.say("pyroclast.scheduler", "session opened")
    assert heard.lines() == ["session opened"] * 3


def test_what_is_remembered_is_bounded() -> None:
    heard = Heard()
    for number in range(REPEATS_KEPT_MAX + 1):
        heard.say("library", f"text {number}")
    heard.say("library", "text 0")
    assert heard.lines()[-1] == "text 0"
    assert len(heard.lines()) == REPEATS_KEPT_MAX + 2
