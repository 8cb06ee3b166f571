"""What would be, what was decided and the same again: on the embedded cluster and on a real one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.stack.running import eventually
from tests.integration.vcctl.shell import Shell, becomes
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.resources import QUEUES
from vc.kubeconfig.access import read_access

NODE_CPU = 64
"""Of each node of `pyroclast up`."""


def job_file(folder: Path, name: str, *, pods: int, cpu: int, node: str = "", **spec: Any) -> Path:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    pod: dict[str, Any] = {"containers": [container]}
    if node:
        pod["nodeSelector"] = {"kubernetes.io/hostname": node}
    task = {"name": "w", "replicas": pods, "template": {"spec": pod}}
    document = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": pods, "tasks": [task], **spec},
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def queue_file(folder: Path, name: str, cpu: int) -> Path:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    document = {**kind, "metadata": {"name": name}, "spec": {"capability": {"cpu": cpu}}}
    path = folder / f"{name}-queue.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_simulate_says_where_a_job_would_run(shell: Shell, tmp_path: Path) -> None:
    path = job_file(tmp_path, "small", pods=2, cpu=1)
    eventually(lambda: not shell.run(f"vcctl simulate -f {path}").code, "nodes and a queue")
    shown = shell.good(f"vcctl simulate -f {path}").out
    assert "job default/small: would run, 2 pods" in shown
    assert re.search(r"default/small-w-0 +\S+", shown)
    assert re.search(r"\(stable after \d sessions, with \S+.*\)\n$", shown)
    found = json.loads(shell.good(f"vcctl simulate -f {path} -n other -o json").out)
    assert [(job["namespace"], job["runs"]) for job in found["jobs"]] == [("other", True)]
    assert "there is no job 'small'" in shell.bad("vcctl job view small"), "nothing was made"


def test_simulate_says_why_not_and_what_helps(shell: Shell, tmp_path: Path) -> None:
    path = job_file(tmp_path, "wide", pods=40, cpu=NODE_CPU)
    ran = shell.run(f"vcctl simulate -f {path}")
    assert ran.code == 1
    assert "job default/wide: would wait" in ran.out
    assert "stage:" in ran.out
    assert "unblock:" in ran.out
    shown = shell.good(f"vcctl simulate -f {path} --add-nodes 60").out
    assert "job default/wide: would run, 40 pods" in shown
    assert "what-if-1" in shown


def test_simulate_says_whom_it_would_evict(shell: Shell, tmp_path: Path) -> None:
    client = Client(read_access([shell.kubeconfig]))
    urgent = {"metadata": {"name": "urgent"}, "value": 1000}
    client.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body=urgent)
    low = job_file(tmp_path, "low", pods=2, cpu=24, node="node-7", minAvailable=1)
    shell.good(f"vcctl job run -f {low}")
    eventually(  # the pod beyond the minimum waits `surplusDelay`
        lambda: [row[2] for row in shell.good("vcctl pod list -j low").rows()] == ["Running"] * 2,
        "both pods run",
    )
    wanted = {"priorityClassName": "urgent", "node": "node-7"}
    path = job_file(tmp_path, "high", pods=1, cpu=30, **wanted)
    eventually(lambda: "would evict" in shell.run(f"vcctl simulate -f {path}").out, "victims")
    shown = shell.good(f"vcctl simulate -f {path}").out
    assert "job default/high: would run, 1 pods" in shown
    assert re.search(r"default/high-w-0 +node-7\n", shown)
    assert re.search(
        r"would evict 1 pods:\nPod +Of +Node\ndefault/low-w-\d +default/low +node-7\n", shown
    )
    found = json.loads(shell.good(f"vcctl simulate -f {path} -o json").out)
    assert [victim["group"] for victim in found["jobs"][0]["victims"]] == ["default/low"]
    assert [row[2] for row in shell.good("vcctl pod list -j low").rows()] == ["Running"] * 2
    shell.good("vcctl job delete low")


def test_simulate_with_a_queue(shell: Shell, tmp_path: Path) -> None:
    path = job_file(tmp_path, "queued", pods=2, cpu=2, queue="fresh")
    assert shell.run(f"vcctl simulate -f {path}").code == 1, "its queue does not exist"
    small, large = queue_file(tmp_path, "fresh", 1), tmp_path / "large.yaml"
    ran = shell.run(f"vcctl simulate -f {path} --queue-file {small}")
    assert (ran.code, "queue 'fresh'" in ran.out) == (1, True), ran
    large.write_text(small.read_text().replace("cpu: 1", "cpu: 8"))
    assert "would run" in shell.good(f"vcctl simulate -f {path} --queue-file {large}").out


def test_simulate_tells_what_admission_would_refuse(shell: Shell, tmp_path: Path) -> None:
    path = job_file(tmp_path, "bad", pods=1, cpu=1)
    path.write_text(path.read_text().replace("minAvailable: 1", "minAvailable: 5"))
    ran = shell.run(f"vcctl simulate -f {path}")
    assert ran.code == 1
    assert "admission would refuse it" in ran.out
    assert "minAvailable" in ran.out


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("vcctl simulate", 2, "nothing to try"),
        ("vcctl simulate --like n", 2, "--like says"),
        ("vcctl simulate -f missing.yaml", 2, "missing.yaml"),
        ("vcctl simulate --add-nodes 1 --like ghost", 1, "there is no node 'ghost'"),
        ("vcctl simulate --drop-job default/ghost", 1, "there is no pod group 'default/ghost'"),
        ("vcctl session show 9-9", 1, "session '9-9' is not, or no longer, in the ring"),
        ("vcctl session replay 9-9", 1, "not, or no longer, in the ring"),
    ],
)
def test_what_cannot_be_tried_says_why(shell: Shell, line: str, code: int, said: str) -> None:
    assert said in shell.bad(line, code=code)


def sessions(shell: Shell) -> list[str]:
    """The newest first."""
    found = json.loads(shell.good("vcctl session list -o json").out)
    return [str(session["sessionId"]) for session in found["sessions"]]


def test_sessions_are_listed_shown_and_run_again(shell: Shell) -> None:
    shell.good("vcctl job run -N recorded -r 3 -m 3")
    becomes(shell, "recorded", "Running")

    def is_told(session_id: str) -> bool:
        return "default/recorded-" in shell.good(f"vcctl session show {session_id}").out

    eventually(lambda: any(map(is_told, sessions(shell))), "who was bound in which session")
    assert shell.good("vcctl session list").out.split()[:3] == ["Session", "Started", "Took"]
    listed = "vcctl session list --limit 1000"
    eventually(lambda: {row[-1] for row in shell.good(listed).rows()} == {"yes"}, "all are kept")
    ids = sessions(shell)
    for session_id in ids:
        shown = shell.good(f"vcctl session replay {session_id}").out
        assert f"session {session_id}: the same, byte for byte" in shown
        recorded, replayed = re.findall(r"(?:recorded|replayed): +(\w{64})", shown)
        assert recorded == replayed
    details = [shell.good(f"vcctl session show {session_id}").out for session_id in ids]
    assert all("again:     vcctl session replay" in detail for detail in details)
    found = json.loads(shell.good(f"vcctl session replay {ids[0]} -o json").out)
    assert found["same"] is True


def test_explain_names_who_holds_what_and_when_it_may_start(shell: Shell, tmp_path: Path) -> None:
    queue = queue_file(tmp_path, "tight", 2)
    holder = job_file(tmp_path, "holder", pods=2, cpu=1, queue="tight", runningEstimate="2h")
    shell.good("vcctl queue create -n tight")
    client = Client(read_access([shell.kubeconfig]))
    client.merge(QUEUES, "tight", {"spec": yaml.safe_load(queue.read_text())["spec"]})
    shell.good(f"vcctl job run -f {holder}")
    becomes(shell, "holder", "Running")
    shell.good(f"vcctl job run -f {job_file(tmp_path, 'later', pods=2, cpu=1, queue='tight')}")
    eventually(lambda: "Held by" in shell.good("vcctl job explain later").out, "who holds it")
    shown = shell.good("vcctl job explain later").out
    assert "queue:     tight, position 1 of 1" in shown
    assert "stage:     quota" in shown
    assert "when default/holder has ended (its runningEstimate of 2h)" in " ".join(shown.split())
    row = next(line.split() for line in shown.splitlines() if line.startswith("default/holder"))
    assert row[1:5] == ["tight", "2", "cpu", "2"]
    found = json.loads(shell.good("vcctl job explain later -o json").out)
    assert found["estimate"]["waitsFor"] == ["default/holder"]
    assert 6900 < found["estimate"]["inSeconds"] <= 7200
    freed = shell.good("vcctl simulate --drop-job default/holder").out
    assert "job default/later: would run, 2 pods" in freed
    for name in ("holder", "later"):
        shell.good(f"vcctl job delete {name}")
