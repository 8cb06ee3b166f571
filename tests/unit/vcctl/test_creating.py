"""What is created: a queue that is closed from the start, and jobs of a file that vsub is given."""

import json
from pathlib import Path

import pytest

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc.cli.vcctl import slurm
from vc.cli.vcctl.api.client import print_warnings
from vc.cli.vcctl.main import main

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: {name}{namespace}}}
spec: {{tasks: []}}
"""


def ended(code: pytest.ExceptionInfo[SystemExit]) -> object:
    return code.value.code


def made(asked: Asked) -> Answer:
    body = json.loads(asked.body)
    body["metadata"]["uid"] = "u-1"
    return answer(body)


def create(url: str, *words: str) -> object:
    with pytest.raises(SystemExit) as code:
        main(["queue", "create", "-n", "q", *words, "-s", url])
    return ended(code)


def test_a_queue_is_open_unless_somebody_says_otherwise() -> None:
    with serving(made) as (url, asked):
        assert create(url) == 0
        assert create(url, "-S", "Open") == 0
    assert [one.path.rpartition("/")[2] for one in asked] == ["queues", "queues"]
    assert "status" not in json.loads(asked[0].body), "a server drops it"


def test_a_queue_that_shall_be_closed_is_closed_by_a_command() -> None:
    with serving(made) as (url, asked):
        assert create(url, "-S", "Closed") == 0
    queue, command = asked
    assert queue.path.endswith("/queues")
    assert command.path.endswith("/namespaces/volcano-system/commands"), "which always counts"
    body = json.loads(command.body)
    assert body["action"] == "CloseQueue"
    assert (body["target"]["name"], body["target"]["uid"]) == ("q", "u-1")


def test_who_may_not_write_in_our_namespace_orders_from_another() -> None:
    """Admission asks whether they may update the queue."""

    def cluster(asked: Asked) -> Answer:
        ours = "/namespaces/volcano-system/" in asked.path
        return refusal(403, "Forbidden", "not in there") if ours else made(asked)

    with serving(cluster) as (url, asked):
        assert create(url, "-S", "Closed") == 0
    assert asked[-1].path.endswith("/namespaces/default/commands")


def test_a_queue_that_stays_open_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    def cluster(asked: Asked) -> Answer:
        return made(asked) if "queues" in asked.path else refusal(403, "Forbidden", "no commands")

    with serving(cluster) as (url, _):
        assert create(url, "-S", "Closed") == 1
    said = capsys.readouterr()
    assert said.err == "vcctl: queue 'q' is created, but open: no commands\n"
    assert said.out == ""


def test_a_state_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(made) as (url, asked):
        assert create(url, "-S", "Shut") == 2
    assert asked == []
    assert "invalid choice: 'Shut'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("says", "words", "namespace"),
    [
        pytest.param("", [], "usual", id="the usual namespace"),
        pytest.param(", namespace: ml", [], "ml", id="the file's own counts more"),
        pytest.param(", namespace: ml", ["-N", "x"], "x", id="the command line counts most"),
    ],
)
def test_vsub_takes_jobs_from_a_file(
    says: str, words: list[str], namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOLCANO_DEFAULT_JOB_NAMESPACE", "usual")
    file = tmp_path / "jobs.yaml"
    file.write_text("---".join(JOB.format(name=name, namespace=says) for name in ("a", "b")))
    with serving(made) as (url, asked), pytest.raises(SystemExit) as code:
        slurm.vsub(["-f", str(file), *words, "-s", url])
    assert ended(code) == 0
    assert [one.path for one in asked] == [
        f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs"
    ] * 2
    assert [json.loads(one.body)["metadata"]["name"] for one in asked] == ["a", "b"]


@pytest.mark.parametrize("words", [["list"], ["describe", "-N", "f"], ["create", "-f", "{file}"]])
def test_what_no_controller_runs_is_said(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "flow.yaml"
    flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": {"name": "f"}}
    file.write_text(json.dumps(flow))

    def cluster(asked: Asked) -> Answer:
        return answer(
            flow if asked.method == "POST" or asked.path.endswith("/f") else {"items": []}
        )

    with serving(cluster) as (url, _), pytest.raises(SystemExit) as code:
        main(["jobflow", *(word.format(file=file) for word in words), "-s", url])
    assert ended(code) == 0
    assert capsys.readouterr().err.startswith("note: no controller runs JobFlows: not supported")


def test_warnings_of_the_server_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_warnings(
        ['299 - "spec.networkTopology: mode \\"hard\\" is not supported"', "299 -", 'x "\x1b[2J"']
    )
    assert capsys.readouterr().err == (
        'Warning: spec.networkTopology: mode "hard" is not supported\nWarning: ?[2J\n'
    )
