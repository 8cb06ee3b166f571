"""`vcctl usage` over a whole stack: what a job holds while its hour runs, and what it has held."""

import csv
import io
import json
from typing import Any

from tests.integration.stack.running import eventually
from tests.integration.vcctl.shell import Shell

HOUR_SECONDS = 3600
CPU, MEMORY_BYTES = 8, 64 << 20
"""Of each of its two pods."""


def told(shell: Shell, *words: str) -> list[dict[str, Any]]:
    found = json.loads(shell.good(" ".join(("vcctl usage -o json", *words))).out)
    lines: list[dict[str, Any]] = found["lines"]
    return lines


def cells(shell: Shell, line: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(shell.good(f"{line} -o csv").out)))


def held_by(shell: Shell, job: str) -> int:
    """Milli-CPU-seconds so far."""
    lines = told(shell, "--by", "job", "-j", job)
    return sum(int(line["unitSeconds"]["cpu"]) for line in lines)


def is_gone(shell: Shell, job: str) -> bool:
    return shell.good(f"vcctl pod list -j {job}").out == "No resources found\n"


def stands_still(shell: Shell, job: str, seen: list[int]) -> bool:
    """Whether several looks in a row, over some periods of the ledger, say the same."""
    seen.append(held_by(shell, job))
    return len(seen) > 5 and len(set(seen[-5:])) == 1


def test_what_a_job_held_is_shown_in_three_forms_and_by_every_cell(shell: Shell) -> None:
    each = f"cpu={CPU},memory=64Mi"
    shell.good(f"vcctl job run -N train -r 2 -m 2 -R {each} -L {each}")
    eventually(lambda: held_by(shell, "train") > 0, "the job held something")
    shell.good("vcctl job delete train")
    eventually(lambda: is_gone(shell, "train"), "its pods are gone")
    seen: list[int] = []
    eventually(lambda: stands_still(shell, "train", seen), "what it held is known")

    (line,) = told(shell, "--by", "queue,namespace,job", "--from", "2h", "-j", "train")
    assert (line["queue"], line["namespace"], line["job"]) == ("default", "default", "train")
    seconds = {name: int(text) for name, text in line["unitSeconds"].items()}
    assert seconds["memory"] * CPU * 1000 == seconds["cpu"] * MEMORY_BYTES
    assert line["cpuHours"] == round(seconds["cpu"] / 1000 / HOUR_SECONDS, 3)
    assert told(shell, "--to", "2020-01-01") == []

    hours = [f"{line['cpuHours']:.3f}", f"{line['memoryGibHours']:.3f}"]
    table = shell.good("vcctl usage --by queue,job -j train").out.splitlines()
    assert table[0].split() == ["Queue", "Job", "CPU-hours", "Memory", "GiB-hours"]
    assert table[1].split() == ["default", "train", *hours]
    assert cells(shell, "vcctl usage --by namespace,job -j train") == [
        ["Namespace", "Job", "CPU-hours", "Memory GiB-hours"],
        ["default", "train", *hours],
    ]
    days = told(shell, "--by", "day", "-j", "train")
    assert sum(int(day["unitSeconds"]["cpu"]) for day in days) == seconds["cpu"]
    (whole,) = [row for row in cells(shell, "vcctl usage --by queue") if row[0] == "default"]
    assert float(whole[1]) >= float(hours[0]) > 0


def test_what_cannot_be_asked_says_why(shell: Shell) -> None:
    assert "is no time" in shell.bad("vcctl usage --from yesterday")
    assert "by='colour'" in shell.bad("vcctl usage --by colour")
