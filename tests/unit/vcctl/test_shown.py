"""What is shown, from objects as the API gives them."""

import argparse
import json
from typing import Any

import pytest

from vc.cli import tables
from vc.cli.tables import GAP, Column, TextTable
from vc.cli.vcctl.api.errors import UsageError
from vc.cli.vcctl.commands.jobs import explain, timeline
from vc.cli.vcctl.commands.jobs import run as job_run
from vc.cli.vcctl.commands.jobs import view as job_view
from vc.cli.vcctl.commands.queues import tree as queue_tree
from vc.cli.vcctl.commands.validate import validate
from vc.cli.vcctl.output.output import without_bookkeeping


def test_plain_tables_have_upstreams_widths() -> None:
    table = TextTable([Column("Name", 10), Column("State")], [["a", "Open"]])
    assert table.header() == "Name      State"
    assert table.line(["a", "Open"]) == "a         Open"
    long = TextTable([Column("Name", 4), Column("State")], [["a-long-name", "Open"]])
    assert long.line(["a-long-name", "Open"]).split() == ["a-long-name", "Open"]


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = TextTable([Column("Name", 40), Column("Phase")], [["Running", "Failed"]])
    assert table.line(["Running", "Failed"]) == f"Running   {tables.RED}Failed   \x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = TextTable([Column("Name"), Column("Phase")], [["x", "Failed"]])
    assert "\x1b" not in plain.header() + plain.line(["x", "Failed"])


def test_a_state_that_nobody_set_yet_keeps_its_column() -> None:
    """A job is listed before its controller has seen it; no script shall take its type for its phase."""
    new = ["new", "", "Batch"]
    table = TextTable([Column("Name"), Column("Phase"), Column("JobType")], [new])
    assert table.line(new).split() == ["new", "-", "Batch"]


def test_others_objects_do_not_steer_the_terminal() -> None:
    evil = "x\x1b[2Jy\n"
    assert TextTable([Column("Name")], [[evil]]).line([evil]) == "x?[2Jy?"
    hostile = job("Pending")
    hostile["metadata"]["namespace"] = "ml"
    hostile["status"]["state"]["message"] = evil
    assert "\x1b" not in "\n".join(explain.answer(hostile, {"group": {"message": evil}}))
    hostile["spec"]["tasks"] = [{"name": evil, "template": {}}]
    assert "\x1b" not in "\n".join(job_view.describe(hostile))


def test_bookkeeping_is_not_shown() -> None:
    obj = {"metadata": {"name": "x", "managedFields": [1]}}
    assert without_bookkeeping(obj) == {"metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("cpu=1,memory=1Gi", {"cpu": "1", "memory": "1Gi"}), ("", {}), ("cpu = 2,", {"cpu": "2"})],
)
def test_amounts(text: str, expected: dict[str, str]) -> None:
    assert job_run.resources_of(text) == expected


@pytest.mark.parametrize("text", ["cpu", "=1", "cpu="])
def test_amounts_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="write one like"):
        job_run.resources_of(text)


def test_a_command_is_split_as_a_shell_would() -> None:
    assert job_run.words_of("sh -c 'sleep 5'") == ["sh", "-c", "sleep 5"]
    with pytest.raises(UsageError, match="No closing quotation"):
        job_run.words_of("sh -c 'sleep")


def queue(name: str, depth: int, parent: str, **amounts: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "depth": depth, "parent": parent, "state": "Open", "weight": 1, **amounts}


TREE = {
    "capacity": {"cpu": "100", "memory": "10Gi"},
    "queues": [
        queue("root", 0, "", used={"cpu": "50", "memory": "1Gi"}),
        queue("eng", 1, "root", used={"cpu": "50"}, capability={"cpu": "60"}),
        queue("nlp", 2, "eng", used={"cpu": "30", "memory": "9Gi"}),
        queue("ops", 1, "root", deserved={"nvidia.com/gpu": "8"}),
    ],
}


def test_a_queues_bar_is_a_part_of_what_it_may_take() -> None:
    rows = queue_tree.rows_of(TREE, wide=False)
    assert [(row[0], row[3], row[4][-4:].strip()) for row in rows] == [
        ("root", "cpu", "50%"),
        ("├─ eng", "cpu", "83%"),
        ("│  └─ nlp", "memory", "90%"),
        ("└─ ops", "nvidia.com/gpu", "-"),
    ]
    assert rows[0][4].count(queue_tree.FULL) == 10


def test_a_wide_tree_has_a_line_a_resource() -> None:
    rows = queue_tree.rows_of(TREE, wide=True)
    assert [(row[0], row[3]) for row in rows][2:5] == [
        ("├─ eng", "cpu"),
        ("│  └─ nlp", "memory"),
        ("", "cpu"),
    ]


def test_more_than_all_is_a_full_bar() -> None:
    assert queue_tree.bar(1.5) == queue_tree.FULL * queue_tree.BAR_CELLS + " 150%"


@pytest.mark.parametrize(
    ("part", "deserved", "drawn"),
    [
        pytest.param(0.5, 0.75, "██████████░░░░┃░░░░░  50%", id="it has less than it deserves"),
        pytest.param(0.75, 0.5, "█████████┃█████░░░░░  75%", id="it has more than it deserves"),
        pytest.param(0.0, 2.0, "░░░░░░░░░░░░░░░░░░░┃   0%", id="it deserves more than it may have"),
        pytest.param(0.0, 0.001, "┃░░░░░░░░░░░░░░░░░░░   0%", id="it deserves a little"),
        pytest.param(0.1, 0.0, "██░░░░░░░░░░░░░░░░░░  10%", id="it deserves nothing"),
        pytest.param(0.1, None, "██░░░░░░░░░░░░░░░░░░  10%", id="nobody says what it deserves"),
    ],
)
def test_what_a_queue_deserves_is_marked_in_its_bar(
    part: float, deserved: float | None, drawn: str
) -> None:
    assert queue_tree.bar(part, deserved) == drawn


def test_a_row_has_the_number_and_the_mark() -> None:
    team = queue("team", 0, "", used={"cpu": "50"}, deserved={"cpu": "25"})
    [row] = queue_tree.rows_of({"capacity": {"cpu": "100"}, "queues": [team]}, wide=False)
    assert row[4] == "████┃█████░░░░░░░░░░  50%"
    assert dict(zip(queue_tree.TITLES, row, strict=True))["Deserved"] == "25"


def job(phase: str, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "j", "namespace": "ml", "uid": "u", "creationTimestamp": at(0)},
        "spec": {"queue": "q"},
        "status": {"state": {"phase": phase}, **status},
    }


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def test_a_job_that_never_ran_was_never_bound() -> None:
    conditions = [
        {"status": "Pending", "lastTransitionTime": at(1)},
        {"status": "Aborted", "lastTransitionTime": at(5)},
    ]
    steps = timeline.steps_of(job("Aborted", conditions=conditions), groups=[], pods=[])
    assert [step.step for step in steps] == ["submitted", "admitted", "aborted"]
    assert [step.step for step in timeline.steps_of(job(""), groups=[], pods=[])] == ["submitted"]


def test_a_timeline_fits_the_terminal_and_a_file_gets_all_of_it() -> None:
    rows = [["2026-01-01T00:00:00Z", "+0s", "admitted", "pod group " + "x" * 90]]
    (cut,) = timeline.fitted(rows, columns=80)
    assert sum(map(len, cut)) + 3 * GAP <= 80
    assert cut[3].endswith("…")
    assert timeline.fitted(rows, columns=0) == rows


EXPLAINED = {
    "stage": "quota",
    "sentence": "queue 'q' is full",
    "needed_pods": 2,
    "placeable_pods": 1,
    "amounts": [{"resource": "memory", "needed": 2**31, "available": 2**30, "missing": 2**30}],
    "checks": [{"name": "taints", "nodes_left": 3}],
    "unblock": {"action": "raise-capability", "target": "q", "amounts": {"memory": 2**30}},
}


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (None, "free resources of cpu 2 each, for 3 more pods"),
        ({"labels": {"disk": "ssd", "rack": ""}}, "3 more pods on nodes with disk=ssd, rack"),
        ({"node": "n7"}, "3 more pods on node n7"),
        ({"apart": ["zone"]}, "3 more pods on nodes each with its own zone"),
        ({"across": ["zone"]}, "3 more pods at every zone"),
        ({"taints": ["a=b:NoSchedule"]}, "3 more pods on nodes without a=b:NoSchedule, unless its pods tolerate it"),
    ],
    ids=["anywhere", "labels", "a node", "apart", "across", "taints"],
)  # fmt: skip
def test_room_is_asked_for_where_it_helps(where: dict[str, object] | None, says: str) -> None:
    unblock = {
        "action": "add-room",
        "pods": 3,
        "amounts": {"cpu": 2000, "pods": 1000},
        "where": where,
    }
    explained = {**EXPLAINED, "unblock": unblock}
    lines = "\n".join(explain.answer(job("Pending"), {"position": 1, "explanation": explained}))
    assert says in lines


def test_an_explanation_has_the_numbers() -> None:
    lines = "\n".join(explain.answer(job("Pending"), {"position": 4, "explanation": EXPLAINED}))
    for part in (
        "job:       ml/j  Pending",
        "queue:     q, number 4 of those that wait",
        "stage:     quota (its queue, or one above it, is full)",
        "pods:      2 needed, 1 fit now",
        "unblock:   raise the capability of queue 'q' by memory 1Gi, or wait for its jobs",
        "memory     2Gi      1Gi         1Gi",
        "taints   3",
    ):
        assert part in lines


@pytest.mark.parametrize(
    ("phase", "detail", "says"),
    [
        ("Running", {"group": {}}, "nothing holds it back"),
        ("Completed", {"group": {}}, "it has ended"),
        ("Pending", {"group": None}, "its pod group does not exist yet"),
        ("Pending", {"group": {"message": "soon"}}, "soon"),
    ],
)
def test_a_job_that_was_not_refused(phase: str, detail: dict[str, Any], says: str) -> None:
    assert says in "\n".join(explain.answer(job(phase), detail))


def test_what_the_job_itself_says_is_shown() -> None:
    waiting = job("Pending")
    waiting["status"]["state"]["message"] = "plugin svc does not answer"
    assert "says:      plugin svc does not answer" in list(explain.answer(waiting, {"group": None}))


BAD = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: bad}
spec: {minAvailable: 5, tasks: [{name: a, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}
"""


def test_validate_says_what_admission_would(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(BAD)
    assert validate(argparse.Namespace(filename=[str(file)], output="")) == 1
    shown = capsys.readouterr().out
    assert "Job bad: spec.minAvailable: 5" in shown
    assert "1 objects: 1 would be refused" in shown
    assert validate(argparse.Namespace(filename=[str(file)], output="json")) == 1
    with pytest.raises(UsageError, match="No such file"):
        validate(argparse.Namespace(filename=[str(tmp_path / "absent")], output=""))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("{binpack.wieght: 1}", 0, "warning: data[volcano-scheduler.conf]: plugin binpack: argument 'binpack.wieght' has no effect"),
        ("{binpack.weight: 20000}", 1, "data[volcano-scheduler.conf]: plugin binpack: argument binpack.weight: 20000 is more than 10000"),
        ("{binpack.weight: 2}", 0, "1 objects: 0 would be refused, 0 warnings"),
    ],
)  # fmt: skip
def test_validate_says_what_the_scheduler_would(
    arguments: str, code: int, says: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = (
        "actions: 'enqueue, allocate'\ntiers:\n- plugins:\n  - name: gang\n"
        f"  - name: binpack\n    arguments: {arguments}\n"
    )
    file = tmp_path / "conf.yaml"
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    file.write_text(json.dumps({**document, "data": {"volcano-scheduler.conf": conf}}))
    assert validate(argparse.Namespace(filename=[str(file)], output="")) == code
    assert says in capsys.readouterr().out
