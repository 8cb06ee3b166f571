"""`vcctl usage` over a whole embedded stack: what a job held is shown while its hour runs."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.vcctl.shell import Shell
from tests.integration.vcctl.test_commands import eventually

PERIOD = "QUEUE_CONTROLLER_USAGE_PERIOD_SECONDS"


@pytest.fixture(scope="module", autouse=True)
def often() -> Iterator[None]:
    """The ledger is told often enough to wait for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PERIOD, "0.3")
        yield


def told(shell: Shell, *words: str) -> list[dict[str, Any]]:
    found = json.loads(shell.good(" ".join(("vcctl usage -o json", *words))).out)
    lines: list[dict[str, Any]] = found["lines"]
    return lines


def test_what_a_job_holds_is_shown_in_three_forms(shell: Shell) -> None:
    shell.good("vcctl job run -N train -r 2 -m 2 -R cpu=500m,memory=64Mi")
    eventually(
        lambda: any(line["cpuHours"] > 0 for line in told(shell, "--by", "queue,job")),
        "the job held something",
    )
    (line,) = told(shell, "--by", "queue,namespace,job", "--from", "2h", "-q", "default")
    assert (line["queue"], line["namespace"], line["job"]) == ("default", "default", "train")
    seconds = {name: int(text) for name, text in line["unitSeconds"].items()}
    assert seconds["memory"] * 500 == seconds["cpu"] * (64 << 20)
    assert told(shell, "--to", "2020-01-01") == []
    table = shell.good("vcctl usage --by job").out.splitlines()
    assert table[0].split() == ["Job", "CPU-hours", "Memory", "GiB-hours"]
    rows = list(csv.reader(io.StringIO(shell.good("vcctl usage --by queue -o csv").out)))
    assert rows[0] == ["Queue", "CPU-hours", "Memory GiB-hours"]
    assert "default" in [row[0] for row in rows[1:]]
    assert "is no time" in shell.bad("vcctl usage --from yesterday")
    assert "by='colour'" in shell.bad("vcctl usage --by colour")
