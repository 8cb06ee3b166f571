"""The dashboard and the alert rules use only exported metrics, and each alert has its runbook."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import promql_parser as promql
import pytest
import yaml

from tests.unit.metrics.exported import exported

ROOT: Final = Path(__file__).parents[3]
SCRAPED: Final = frozenset({"instance", "job", "namespace", "pod"})
"""Labels that the scraper adds."""
KEYS: Final = ("**Means**", "**Look at**", "**Do**")


def series() -> dict[str, frozenset[str]]:
    return {
        name: labels | SCRAPED
        for metric in exported().values()
        for name, labels in metric.series.items()
    }


def alerts() -> dict[str, dict[str, Any]]:
    text = (ROOT / "deploy/prometheus/alerts.yaml").read_text()
    return {rule["alert"]: rule for g in yaml.safe_load(text)["groups"] for rule in g["rules"]}


def panels() -> list[dict[str, Any]]:
    board = json.loads((ROOT / "deploy/grafana/pyroclast.json").read_text())
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries() -> Iterator[tuple[str, str]]:
    for name, rule in alerts().items():
        yield name, rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]


def unknown_in(query: str) -> list[str]:
    """Names and labels of a query that are not exported."""
    return _look(promql.parse(query))[1]


def _look(expr: Any) -> tuple[frozenset[str], list[str]]:
    """Labels that an expression may have, and what is wrong below it."""
    match expr:
        case promql.VectorSelector():
            return _selector(expr)
        case promql.MatrixSelector():
            return _selector(expr.vector_selector)
        case promql.AggregateExpr():
            labels, wrong = _look(expr.expr)
            named = list(expr.modifier.labels) if expr.modifier else []
            return labels, wrong + [f"label {label}" for label in named if label not in labels]
        case promql.BinaryExpr():
            left, right = _look(expr.lhs), _look(expr.rhs)
            labels, wrong = left[0] | right[0], left[1] + right[1]
            matching = expr.modifier.matching if expr.modifier else None
            named = list(matching.labels) if matching else []
            return labels, wrong + [f"label {label}" for label in named if label not in labels]
        case promql.Call():
            found = [_look(argument) for argument in expr.args]
            return frozenset().union(*(f[0] for f in found)), [w for f in found for w in f[1]]
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            return _look(expr.expr)
        case promql.NumberLiteral() | promql.StringLiteral():
            return frozenset(), []
    raise AssertionError(f"an expression this test does not know: {expr!r}")


def _selector(selector: Any) -> tuple[frozenset[str], list[str]]:
    labels = series().get(selector.name)
    if labels is None:
        return frozenset(), [f"metric {selector.name}"]
    asked = [matcher.name for matcher in selector.matchers.matchers]
    return labels, [f"label {name} of {selector.name}" for name in asked if name not in labels]


@pytest.mark.parametrize(("where", "query"), list(queries()), ids=[where for where, _ in queries()])
def test_a_query_asks_only_for_what_we_export(where: str, query: str) -> None:
    assert unknown_in(query) == [], where


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("rate(pyroclast_binds_total[5m])", []),
        ("pyroclast_binds", ["metric pyroclast_binds"]),
        ('volcano_queue_share{queue="q"}', ["label queue of volcano_queue_share"]),
        ("sum by (node) (pyroclast_binds_total)", ["label node"]),
        ("volcano_queue_share > on (queue) volcano_queue_weight", ["label queue"]),
        ("rate(pyroclast_api_request_seconds[5m])", ["metric pyroclast_api_request_seconds"]),
    ],
)
def test_the_check_finds_what_is_wrong(query: str, wrong: list[str]) -> None:
    assert unknown_in(query) == wrong


def test_no_two_panels_overlap() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in panels():
        at = panel["gridPos"]
        for cell in (
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        ):
            assert cell not in taken, (panel["title"], taken.get(cell))
            taken[cell] = panel["title"]


def test_each_alert_has_a_section_in_the_runbook_and_none_is_left_over() -> None:
    text = (ROOT / "docs/runbook.md").read_text()
    sections = {part.split("\n", 1)[0]: part for part in text.split("\n## ")[1:]}
    assert list(sections) == list(alerts())
    for name, rule in alerts().items():
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{name.lower()}"
        assert all(key in sections[name] for key in KEYS), name
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_an_alert_speaks_only_of_labels_that_its_expression_has() -> None:
    for name, rule in alerts().items():
        labels = _look(promql.parse(rule["expr"]))[0]
        for part in rule["annotations"]["summary"].split("$labels.")[1:]:
            assert part.split()[0].rstrip("}.,;") in labels, (name, part)
