"""Usage, added up as somebody asks for it."""

from dataclasses import dataclass, field

import pytest

from vc.dashboard.logic.answers.query_parameters import QueryError
from vc.dashboard.logic.usage import UsageMemory, query_of, report
from vc.messages.usage import UsageRow, usage_message

HOUR = 1_800_000_000
"""2027-01-15T08:00:00Z"""


def row(
    job: str, *, queue: str = "a", namespace: str = "ml", hour: int = 0, gpu: int = 1
) -> UsageRow:
    return UsageRow(
        queue=queue,
        namespace=namespace,
        job=job,
        hour=HOUR + hour * 3600,
        held={"cpu": "7200000", "memory": str(3600 << 30), "nvidia.com/gpu": str(gpu * 3_600_000)},
        closed=hour < 20,
    )


ROWS = [row("x"), row("x", hour=1), row("y", gpu=4), row("z", queue="b", hour=20)]


@dataclass(frozen=True)
class Case:
    sentence: str
    query: dict[str, str]
    wanted: list[tuple[str, ...]]
    hours: list[float] = field(default_factory=list)
    """Of GPUs, in the same order."""


CASES = [
    Case("by queue when nothing is said", {}, [("a",), ("b",)], [6.0, 1.0]),
    Case("by job, the largest first", {"by": "job"}, [("y",), ("x",), ("z",)], [4.0, 2.0, 1.0]),
    Case("cells come in their own order", {"by": "day,queue"}, [("a", "2027-01-15"), ("b", "2027-01-16")], [6.0, 1.0]),
    Case("from an hour on", {"from": "2027-01-15T09:00:00Z"}, [("a",), ("b",)], [1.0, 1.0]),
    Case("to the end of a day", {"to": "2027-01-15"}, [("a",)], [6.0]),
    Case("to an hour", {"to": "2027-01-15T09:00:00Z", "by": "job"}, [("y",), ("x",)], [4.0, 1.0]),
    Case("of one queue", {"queue": "b", "by": "namespace"}, [("ml",)], [1.0]),
    Case("of one job", {"job": "x", "by": "job"}, [("x",)], [2.0]),
    Case("of nobody", {"namespace": "other"}, []),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_usage_is_added_up(case: Case) -> None:
    question = query_of(case.query, limit=100)
    found = report(ROWS, question, stale="")
    cells = [tuple(getattr(line, cell) for cell in found.by) for line in found.lines]
    assert cells == case.wanted
    assert [line.device_hours["nvidia.com/gpu"] for line in found.lines] == case.hours
    assert found.closed_until == "2027-01-15T10:00:00Z"


def test_hours_are_those_of_people_and_seconds_are_exact() -> None:
    (line,) = report([row("x")], query_of({}, limit=10), stale="").lines
    assert (line.cpu_hours, line.memory_gib_hours) == (2.0, 1.0)
    assert line.unit_seconds["memory"] == str(3600 << 30)


def test_the_rest_is_counted() -> None:
    found = report(ROWS, query_of({"by": "job"}, limit=1), stale="old")
    assert (len(found.lines), found.total, found.stale) == (1, 3, "old")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"by": "colour"}, "by='colour'"),
        ({"from": "yesterday"}, "from='yesterday'"),
        ({"to": "9999-12-31"}, "to='9999-12-31': no calendar goes that far"),
        ({"from": "2027-01-15", "to": "2027-01-14"}, "to: must be after from"),
    ],
)
def test_a_question_that_cannot_be_answered_is_named(query: dict[str, str], said: str) -> None:
    with pytest.raises(QueryError, match=said.replace("(", r"\(")):
        query_of(query, limit=10)


def test_a_newer_row_replaces_and_none_takes_away() -> None:
    memory = UsageMemory(rows_max=3)
    key = usage_message(ROWS[0]).key
    memory.take(key, row("x", gpu=9))
    memory.take(key, ROWS[0])
    memory.take(key, ROWS[0])
    assert memory.rows() == [ROWS[0]]
    memory.take(key, None)
    memory.take(key, None)
    assert memory.rows() == []
    for each in ROWS:
        memory.take(usage_message(each).key, each)
    assert {r.hour for r in memory.rows()} == {HOUR + 3600, HOUR + 20 * 3600}


def test_an_account_is_read_page_by_page_in_the_order_of_its_cells() -> None:
    seen: list[tuple[str, str]] = []
    after = ""
    for _ in range(len(ROWS)):
        question = query_of({"by": "job,day", "after": after}, limit=2)
        page = report(ROWS, question, stale="")
        assert page.total == 3
        seen += [(line.job, line.day) for line in page.lines]
        if len(page.lines) < 2:
            break
        after = f"{page.lines[-1].job},{page.lines[-1].day}"
    assert seen == [("x", "2027-01-15"), ("y", "2027-01-15"), ("z", "2027-01-16")]


def test_a_place_to_go_on_from_has_as_many_cells_as_a_line() -> None:
    with pytest.raises(QueryError, match="after='x': write job, day of a line"):
        query_of({"by": "job,day", "after": "x"}, limit=2)
