"""Runs as an SVG: a bar for each shape, run and stage, with its p50 and p99, drawn without a library.

It has a background of its own and asks the reader's theme for its colours, so it can be read in the
light and in the dark. One scale for all bars, because shapes are compared with one another too.
"""

import math
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from bench.cluster.results import Run, ShapeResult, Spread
from bench.cluster.shapes import Shape
from bench.pod_times import STAGES

WIDTH: Final = 960
LEFT: Final = 190
RIGHT: Final = 250
"""For the numbers behind a bar."""
BAR: Final = 14
GAP: Final = 4
HEAD: Final = 64
TITLE: Final = 24
FOOT: Final = 44
TICKS_MAX: Final = 8
_PLOT: Final = WIDTH - LEFT - RIGHT

_STYLE: Final = """
:root { --back: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --created: #8aa6c1; --bound: #2f7ebc; --running: #2a9d6f; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --ink: #e6edf3; --soft: #9198a1;
  --line: #3d444d; --created: #6f8ba8; --bound: #58a6ff; --running: #3fb984; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.title { font-size: 15px; font-weight: 600; } .shape { font-weight: 600; } .soft { fill: var(--soft); }
.back { fill: var(--back); } .grid { stroke: var(--line); } .mark { stroke: var(--ink); stroke-width: 2; }
.created { fill: var(--created); } .bound { fill: var(--bound); } .running { fill: var(--running); }
"""


def draw(runs: Sequence[Run]) -> str:
    """The whole chart, with shapes in the order in which they were measured."""
    shapes = list(dict.fromkeys(each.shape for run in runs for each in run.shapes))
    longest = max(
        (spread.last for run in runs for each in run.shapes for spread in each.stages.values()),
        default=0.0,
    )
    step = tick_step(longest)
    scale = _PLOT / (step * max(1, math.ceil(longest / step)))
    body: list[str] = []
    top: float = HEAD
    for shape in shapes:
        drawn, top = _shape(shape, runs, top=top, scale=scale)
        body += drawn
    grid = _grid(step, scale=scale, bottom=top)
    height = round(top + FOOT)
    labels = ", ".join(dict.fromkeys(run.label for run in runs))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {_size(height)}>',
            f"<title>{escape(labels)}: from submission to pods created, bound and running</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="back" width="{WIDTH}" height="{height}"/>',
            _text(16, 26, f"{labels}: seconds from submission, jobs x pods", "title"),
            *_legend(),
            *grid,
            *body,
            "</svg>",
            "",
        ]
    )


def _size(height: int) -> str:
    return f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'


def tick_step(longest: float) -> float:
    """A round number of seconds, such that few ticks reach the longest bar."""
    if longest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(longest / TICKS_MAX))
    return next(
        power * round_number
        for round_number in (1, 2, 5, 10)
        if longest / (power * round_number) <= TICKS_MAX
    )


def _legend() -> list[str]:
    drawn, x = [], 16
    for stage in STAGES:
        drawn.append(f'<rect class="{stage}" x="{x}" y="38" width="12" height="12"/>')
        drawn.append(_text(x + 18, 48, stage, "soft"))
        x += 90
    drawn.append(_text(x, 48, "bar: the last pod · thin mark: p50 · thick mark: p99", "soft"))
    return drawn


def _grid(step: float, *, scale: float, bottom: float) -> list[str]:
    drawn = []
    for number in range(round(_PLOT / scale / step) + 1):
        x = LEFT + number * step * scale
        drawn.append(f'<path class="grid" d="M{x:.1f} {HEAD - 4}V{bottom:.1f}"/>')
        drawn.append(_text(x, bottom + 16, f"{number * step:g} s", "soft", anchor="middle"))
    return drawn


def _shape(
    shape: Shape, runs: Sequence[Run], *, top: float, scale: float
) -> tuple[list[str], float]:
    """All runs of a shape below one another, and where the next shape begins."""
    drawn = [_text(16, top + TITLE - 8, f"{shape}", "shape")]
    y = top + TITLE
    for run in runs:
        result = run.by_shape().get(shape)
        if result is None:
            continue
        drawn.append(_text(16, y + BAR - 2, _shortened(run.label), "soft"))
        drawn.append(_text(16, y + 2 * BAR + GAP - 2, _rate(result), "soft"))
        for stage in STAGES:
            spread = result.stages.get(stage)
            if spread is not None:
                drawn += _bar(stage, spread, y=y, scale=scale)
            y += BAR + GAP
        y += GAP
    return drawn, y + GAP


def _bar(stage: str, spread: Spread, *, y: float, scale: float) -> list[str]:
    length = spread.last * scale
    marks = [
        f'<path class="mark" style="stroke-width:{width}" '
        f'd="M{LEFT + seconds * scale:.1f} {y:.1f}v{BAR}"/>'
        for seconds, width in ((spread.p50, 1), (spread.p99, 3))
    ]
    label = f"p50 {spread.p50:.2f} · p99 {spread.p99:.2f} · last {spread.last:.2f} s"
    return [
        f'<rect class="{stage}" x="{LEFT}" y="{y:.1f}" width="{length:.1f}" height="{BAR}"/>',
        *marks,
        _text(LEFT + length + 8, y + BAR - 3, label),
    ]


def _rate(result: ShapeResult) -> str:
    return f"{result.pods_per_second:.1f} pods/s" if result.complete else "not all pods"


def _shortened(label: str, length_max: int = 24) -> str:
    return label if len(label) <= length_max else label[: length_max - 1] + "…"


def _text(x: float, y: float, text: str, kind: str = "", *, anchor: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}{anchor}>{escape(text)}</text>'
