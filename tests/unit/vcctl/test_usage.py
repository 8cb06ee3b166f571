"""`vcctl usage`, from what the dashboard answers."""

from typing import Any

import pytest

from vc_cli.ctl import usage
from vc_cli.ctl.errors import CtlError

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
