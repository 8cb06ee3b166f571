"""JSONPath of printer columns."""

import pytest

from vc.model.api.struct import Json
from vc.simcluster.printing.json_paths import PathError, find_all, find_first

_OBJECT: Json = {
    "metadata": {"labels": {"volcano.sh/queue": "q"}, "name": "x"},
    "spec": {"tasks": [{"name": "a", "n": 1}, {"name": "b", "n": 0}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", "x"),
        (".spec.tasks[1].name", "b"),
        (".spec.tasks[1].n", 0),
        (".spec.tasks[-1].name", "b"),
        (".spec.tasks[7].name", None),
        (".spec.missing.name", None),
        (r".metadata.labels.volcano\.sh/queue", "q"),
        (".metadata.labels['volcano.sh/queue']", "q"),
        ('.status.conditions[?(@.type=="Ready")].status', "True"),
        (".status.conditions[?(@.type=='Gone')].status", None),
    ],
)
def test_a_path_finds_its_value(path: str, found: Json) -> None:
    assert find_first(_OBJECT, path) == found


def test_a_star_finds_all() -> None:
    assert find_all(_OBJECT, ".spec.tasks[*].name") == ["a", "b"]


def test_a_path_that_cannot_be_read_says_where() -> None:
    with pytest.raises(PathError, match="cannot read it from"):
        find_first(_OBJECT, ".spec.tasks[(1+1)]")
