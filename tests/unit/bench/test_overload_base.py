"""A base commit that cannot be measured does not lose the report of the other runs."""

import argparse
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench import bench_overload
from bench.bench_overload import LINES, Measured
from bench.cluster.setting import MeasureError

from vc.parts.errors import StartFailedError


def test_a_base_that_does_not_start_is_reported_after_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported: list[str] = []

    async def run(
        arguments: argparse.Namespace,
        label: str,
        *,
        share: float,
        source: Path | None,
    ) -> Measured:
        if source is not None:
            raise StartFailedError("not ready within 90 s")
        return Measured(
            label=label,
            share=share,
            wall_seconds=10.0,
            cpu_seconds=5.0,
            leases_passed_on=0,
            log_counts=dict.fromkeys(LINES, 0),
        )

    @contextmanager
    def checkout(commit: str) -> Iterator[Path]:
        yield Path(commit)

    monkeypatch.setattr(bench_overload, "_run", run)
    monkeypatch.setattr(bench_overload, "checkout", checkout)
    monkeypatch.setattr(
        bench_overload,
        "_report",
        lambda _, runs: reported.extend(each.label for each in runs),
    )
    arguments = bench_overload.parser().parse_args(["--base", "abc", "--shares", "0.25"])

    with pytest.raises(MeasureError) as raised:
        asyncio.run(bench_overload.measure_all(arguments))

    assert reported == ["quiet", "25% taken"]
    assert str(raised.value) == "quiet, abc: not measured: not ready within 90 s"
