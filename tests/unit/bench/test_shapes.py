"""What is submitted, and what is refused before anything is."""

import pytest
from bench.cluster.process_use import parse_pids
from bench.cluster.shapes import DEFAULT_SHAPES, PodTemplate, Shape, manifest, parse_shapes


def test_shapes_are_read_in_their_order_and_once() -> None:
    assert parse_shapes("2x3, 1x5,2x3") == [Shape(2, 3), Shape(1, 5)]
    assert [shape.total for shape in parse_shapes(DEFAULT_SHAPES)] == [1000, 5000, 2000, 5000]


@pytest.mark.parametrize("text", ["5", "x5", "0x5", "5x0", "-1x5", "1x2x3", "٣x2", "9999999x1"])
def test_what_is_no_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="such as 100x50") as error:
        parse_shapes(text)
    assert repr(text) in str(error.value)


def test_a_job_is_one_gang_with_what_was_asked_for() -> None:
    template = PodTemplate(
        queue="q", scheduler_name="other", plugins=["env"], node_selector={"type": "kwok"}
    )
    body = manifest(Shape(2, 7), 1, template)
    spec = body["spec"]
    (task,) = spec["tasks"]
    assert body["metadata"]["name"] == "bench-2x7-1"
    assert (spec["minAvailable"], task["replicas"]) == (7, 7)
    assert (spec["schedulerName"], spec["queue"], spec["plugins"]) == ("other", "q", {"env": []})
    assert task["template"]["spec"]["nodeSelector"] == {"type": "kwok"}
    assert "tolerations" not in task["template"]["spec"]


def test_pods_tolerate_everything_only_when_asked_to() -> None:
    body = manifest(Shape(1, 1), 0, PodTemplate(tolerates_all=True))
    pod = body["spec"]["tasks"][0]["template"]["spec"]
    assert pod["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("scheduler", "write name=pid"),
        ("=12", "write name=pid"),
        ("a=b", "write name=pid"),
        ("a=1,a=1", "named twice"),
        ("a=99999999", "no such process"),
    ],
)
def test_pids_that_cannot_be_watched_are_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_pids(text)


def test_pids_are_read() -> None:
    assert parse_pids("init=1, ") == {"init": 1}
    assert parse_pids("") == {}
