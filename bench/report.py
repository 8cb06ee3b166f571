"""The report of a benchmark: a table, a JSON file and one line of values."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from vc.cli.tables import render

RESULTS: Final = Path(__file__).parent / "results"
_WIDTH: Final = 240
"""Wider than any table: a number that is cut is another number."""


def percentile(values: Sequence[float], fraction: float) -> float:
    """The smallest value that so large a fraction does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(fraction * len(ordered)) - 1)]


def report(
    name: str,
    *,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    values: Mapping[str, float],
) -> None:
    """A table for people, JSON for machines, and one last line for both."""
    print(f"\n{name}")
    print(render(header, rows, width=_WIDTH))
    RESULTS.mkdir(parents=True, exist_ok=True)
    rounded = {key: round(value, 3) for key, value in values.items()}
    (RESULTS / f"{name}.json").write_text(json.dumps(rounded, indent=2) + "\n")
    print(" ".join(f"{key}={value:g}" for key, value in rounded.items()), flush=True)
