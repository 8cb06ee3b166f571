"""`vcctl usage`, from what the dashboard answers."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.unit.vcctl.server import Answer, Asked, answer, serving
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.dashboard import Dashboard
from vc.cli.vcctl.api.errors import CtlError
from vc.cli.vcctl.commands import usage
from vc.cli.vcctl.main import main
from vc.kubeconfig.access import Access

USAGE: dict[str, Any] = {
    "by": ["queue", "job"],
    "lines": [
        {"queue": "a", "job": "x", "cpuHours": 2.5, "memoryGibHours": 1, "deviceHours": {"nvidia.com/gpu": 8}},
        {"queue": "a", "job": "", "cpuHours": 1, "memoryGibHours": 0, "deviceHours": {}},
    ],
}  # fmt: skip


def test_usage_has_a_column_per_device() -> None:
    titles, rows = usage.table_of(USAGE)
    assert titles == ["Queue", "Job", "GPU-hours", "CPU-hours", "Memory GiB-hours"]
    assert rows == [
        ["a", "x", "8.000", "2.500", "1.000"],
        ["a", "(small jobs)", "0.000", "1.000", "0.000"],
    ]


def test_two_sorts_of_gpu_are_told_apart() -> None:
    line = {"queue": "a", "deviceHours": {"nvidia.com/gpu": 1, "amd.com/gpu": 2, "x.io/tpu": 3}}
    titles, _ = usage.table_of({"by": ["queue"], "lines": [line]})
    assert titles[1:4] == ["amd.com/gpu-hours", "nvidia.com/gpu-hours", "TPU-hours"]


def test_times_of_usage_are_days_moments_or_so_long_ago() -> None:
    assert usage.moment("2026-11-16") == "2026-11-16"
    assert usage.moment("") == ""
    assert usage.moment("7d").endswith("Z")
    with pytest.raises(CtlError, match="'yesterday' is no time"):
        usage.moment("yesterday")


# -- an account is read to its end -----------------------------------------------------------------

LINES = [
    {"job": f"j{number:04}", "day": "2026-11-16", "cpuHours": number, "deviceHours": {}}
    for number in range(2_500)
]


def account(asked: Asked, *, pages: bool = True) -> Answer:
    """A dashboard with more lines than it gives at once."""
    query = parse_qs(urlsplit(asked.path).query, keep_blank_values=True)
    after = query["after"][0].split(",")[0] if pages else ""
    left = [line for line in LINES if str(line["job"]) > after]
    limit = int(query["limit"][0])
    return answer({"by": ["job", "day"], "lines": left[:limit], "total": len(LINES)})


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["usage", "--by", "job,day", *words])
    return int(str(ended.value.code))


@pytest.mark.parametrize("form", ["csv", "json", ""])
def test_no_line_of_an_account_is_left_out(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(account) as (url, asked):
        assert run("--dashboard", url, *(["-o", form] if form else [])) == 0
    shown = capsys.readouterr()
    assert all(f"j{number:04}" in shown.out for number in range(2_500))
    assert len(asked) == 3
    assert shown.err == ""
    if form == "csv":
        assert shown.out.splitlines()[1].startswith("j2499,"), "the largest first, as on one page"
        assert len(shown.out.splitlines()) == 1 + 2_500


def test_an_account_that_could_not_be_read_to_its_end_is_said_to_be_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving(lambda asked: account(asked, pages=False)) as (url, asked):
        assert run("--dashboard", url, "-o", "csv") == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 1 + usage.PAGE_LINES
    assert "lines are missing: this dashboard gives no more than 1000" in shown.err
    assert len(asked) == 2


def test_an_account_without_end_is_not_read_for_ever() -> None:
    with serving(account) as (url, asked):
        dashboard = Dashboard(Client(Access(server=url)))
        found, missing = usage.read_all(dashboard, {"by": "job,day"}, pages_max=2)
    assert (len(found["lines"]), len(asked)) == (2_000, 2)
    assert "more than 2000" in missing
