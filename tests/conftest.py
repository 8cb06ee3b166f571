"""Real parts for the whole run: got before the first test, and proven to have been used.

`PYROCLAST_REQUIRE=kafka,redis,kubernetes` makes a missing part a failure instead of a skip. It also
makes the run fail when a contract suite did not run on each backend named there: a suite that is
skipped in silence proves nothing.

Property tests draw the same examples every time, so that a red gate says something about the change;
`PYROCLAST_EXPLORE=1` draws new ones.
"""

import logging
import os
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from vc.parts import PartError, obtain_required
from vc.runtime.hosting.logs import OURS

# How fast examples are drawn says something about the machine, not about the code.
_SLOW = [HealthCheck.too_slow]
settings.register_profile("steady", derandomize=True, suppress_health_check=_SLOW)
settings.register_profile("exploring", derandomize=False, suppress_health_check=_SLOW)
settings.load_profile("exploring" if os.environ.get("PYROCLAST_EXPLORE") else "steady")

_SUITE_OF_PART: Final = {"kafka": "bus", "redis": "snapshot", "kubernetes": "cluster"}
_passed: Counter[tuple[str, str]] = Counter()
"""Passed contract tests by suite and the whole id of their backend."""


def required_parts() -> list[str]:
    """Parts that must be there."""
    return [name for name in os.environ.get("PYROCLAST_REQUIRE", "").split(",") if name]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Long builds happen here, with progress, and never inside a test's time-out."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell gives that to what it runs in the background; children that are told Ctrl-C would
        # inherit it and never hear.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not required_parts() or hasattr(session.config, "workerinput"):
        return
    try:
        obtain_required(say=lambda line: print(line, flush=True))
    except PartError as error:
        pytest.exit(f"a required part is missing: {error}", returncode=1)


@pytest.fixture(autouse=True)
def _log_levels() -> Iterator[None]:
    """Restore log levels: a test that starts a command line in this process sets them for later tests."""
    ours, root = logging.getLogger(OURS), logging.getLogger()
    levels = (ours.level, root.level, root.manager.disable)
    yield
    ours.setLevel(levels[0])
    root.setLevel(levels[1])
    logging.disable(levels[2])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember which backends a contract suite really ran on."""
    folders = report.nodeid.split("::")[0].split("/")
    if report.when == "call" and report.passed and folders[:2] == ["tests", "contracts"]:
        _passed[folders[2], report.nodeid.partition("[")[2]] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A required backend that no contract test ran on fails the run."""
    config = session.config
    whole = not config.option.keyword and config.args in ([], ["tests"])
    if hasattr(config, "workerinput") or not whole or config.option.collectonly:
        return
    idle = [part for part in required_parts() if not _ran_on(part)]
    if idle:
        print(f"\ncontract suites did not run on: {', '.join(idle)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _ran_on(part: str) -> bool:
    suite = _SUITE_OF_PART.get(part)
    return suite is None or any(s == suite and part in backend for s, backend in _passed)
