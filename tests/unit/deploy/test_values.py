"""Every value of the chart is described once, in the schema; deploy/README.md shows the same table."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy" / "helm" / "pyroclast"
SHOWN_LETTERS_MAX = 40
SWITCH = {"$ref": "#/definitions/switch"}


def described(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the values that have a description of their own."""
    for name, inner in schema.get("properties", {}).items():
        here = (*path, name)
        if SWITCH in inner.get("allOf", []):
            yield (*here, "enabled")
        elif "description" in inner:
            yield here
        else:
            yield from described(inner, here)


def description(schema: dict[str, Any], path: tuple[str, ...]) -> str:
    for name in path:
        inner = schema.get("properties", {}).get(name)
        if inner is None:
            break
        schema = inner
    found: str = schema["description"]
    return found


def at(values: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        values = values[name]
    return values


def shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text}`" if text and len(text) <= SHOWN_LETTERS_MAX else "" if not text else "…"


def table() -> str:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    rows = [
        f"| `{'.'.join(path)}` | {shown(at(values, path))} | {description(schema, path)} |"
        for path in described(schema)
    ]
    return "\n".join(["| value | default | |", "|---|---|---|", *rows])


def test_the_readme_has_the_table_of_values() -> None:
    assert table() in (ROOT / "deploy/README.md").read_text(), f"deploy/README.md needs:\n{table()}"


def test_every_default_is_described() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    known = set(described(schema))

    def leaves(values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        if path in known or not isinstance(values, dict) or not values:
            yield path
        else:
            for name, inner in values.items():
                yield from leaves(inner, (*path, name))

    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(leaves(values)) <= known


def test_the_chart_has_the_version_of_the_code() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{chart["appVersion"]}"' in project
    assert chart["version"] == chart["appVersion"]


def test_the_charts_definitions_are_the_projects_own() -> None:
    assert (CHART / "crds").resolve() == ROOT / "deploy" / "crds"
