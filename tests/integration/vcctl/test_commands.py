"""What commands do, on the embedded cluster and on a real kube-apiserver, through real sockets."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.e2e.workload import gang
from tests.integration.stack.running import eventually
from tests.integration.vcctl.commands import FLOWS, JOB
from tests.integration.vcctl.shell import BIN, Shell, becomes
from tests.integration.vcctl.typist import Typist
from vc.model.values.quantity import parse_quantity

EXAMPLES = Path(__file__).parents[3] / "examples"
LIST_TITLES = (
    "Name Creation Phase JobType Replicas Min Pending Running Succeeded Failed Unknown RetryCount"
)
QUEUE_TITLES = "Name Weight State Parent Inqueue Pending Running Unknown Completed"


# -- the documents our users start from ------------------------------------------------------------


def test_the_commands_of_the_documents_do_what_they_say(shell: Shell) -> None:
    shell.good("vcctl job run -N a-job")
    becomes(shell, "a-job", "Running")
    assert shell.good("vcctl queue list").out.splitlines()[0].split() == QUEUE_TITLES.split()
    assert shell.good("vcctl queue create -n a-queue -w 2").out
    assert ["a-queue", "2", "Open", "root"] in [
        row[:4] for row in shell.good("vcctl queue list").rows()
    ]
    assert "a-job" in [row[0] for row in shell.good("vcctl job list").rows()]
    assert "Name:        a-job" in shell.good("vcctl job view -n a-job").out
    assert shell.good("vcctl job suspend -n a-job").out == "suspend job a-job successfully\n"
    becomes(shell, "a-job", "Aborted")
    assert shell.good("vcctl job resume -n a-job").out == "resume job a-job successfully\n"
    becomes(shell, "a-job", "Running")
    assert shell.good("vcctl job delete -n a-job").out == "delete job a-job successfully\n"
    gone = "there is no job 'a-job'"
    eventually(lambda: gone in shell.run("vcctl job view -n a-job").err, "it is gone")


# -- jobs ------------------------------------------------------------------------------------------


def test_run_list_and_view(shell: Shell) -> None:
    run = "vcctl job run -N lister -r 3 -m 2 -i alpine -R cpu=500m -L cpu=1 -n default"
    assert shell.good(run).out == "run job lister successfully\n"
    listed = shell.good("vcctl job list --selector liste")
    assert listed.out.splitlines()[0].split() == LIST_TITLES.split()
    (row,) = listed.rows()
    assert (row[0], row[3], row[4], row[5]) == ("lister", "Batch", "3", "2")
    everywhere = shell.good("vcctl job list --all-namespaces --selector lister")
    assert everywhere.out.split()[0] == "Namespace"
    assert everywhere.rows()[0][:2] == ["default", "lister"]
    assert "Queue" in shell.good("vcctl job list -o wide").out.splitlines()[0].split()
    for filtered in ("-q no-such-queue", "-S other-scheduler", "-n empty", "--selector zzz"):
        assert shell.good(f"vcctl job list {filtered}").out == "No resources found\n"
    items = yaml.safe_load(shell.good("vcctl job list -o yaml").out)["items"]
    assert "lister" in [item["metadata"]["name"] for item in items]
    shown = shell.good("vcctl job view -N lister -n default").out
    for part in ("Kind:        Job", "Min Available:  2", "Image:       alpine", "cpu=500m"):
        assert part in shown
    assert "Events:" in shown


def test_a_file_may_hold_several_jobs(shell: Shell, tmp_path: Path) -> None:
    shell.good("vcctl queue create dev")
    two = EXAMPLES / "05-two-gangs.yaml"
    shown = shell.good(f"vcctl job run -f {two}").out
    assert shown == "run job gang-a successfully\nrun job gang-b successfully\n"
    for name in ("gang-a", "gang-b"):
        shell.good(f"vcctl job delete {name}")
    assert "cannot all be called" in shell.bad(f"vcctl job run -f {two} -N x", code=2)
    (tmp_path / "none.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")
    assert "there is no" in shell.bad(f"vcctl job run -f {tmp_path / 'none.yaml'}", code=2)


def test_admissions_own_words_are_shown(shell: Shell) -> None:
    error = shell.bad("vcctl job run -N odd -m 5 -r 1")
    assert "denied the request" in error
    assert "spec.minAvailable: 5" in error
    assert "needs a name" in shell.bad("vcctl job run", code=2)
    shell.good("vcctl job run -N twice")
    assert "already exists" in shell.bad("vcctl job run -N twice")


@pytest.mark.parametrize("verb", ["view", "suspend", "resume", "delete", "explain", "timeline"])
def test_no_such_job(shell: Shell, verb: str) -> None:
    error = shell.bad(f"vcctl job {verb} -N ghost -n nowhere")
    assert error == "vcctl: there is no job 'ghost' in namespace 'nowhere'\n"
    assert "-n ghost was taken as the name" in shell.bad(f"vcctl job {verb} -n ghost")
    assert "which job?" in shell.bad(f"vcctl job {verb}", code=2)


# -- why and when ----------------------------------------------------------------------------------


def test_explain_tells_why_a_job_waits_and_what_would_help(shell: Shell) -> None:
    shell.good("vcctl job run -N huge -r 2 -m 2 -R cpu=9999 -L cpu=9999")
    eventually(lambda: "stage:" in shell.good("vcctl job explain huge").out, "explained")
    shown = shell.good("vcctl job explain -n huge").out
    assert "job:       default/huge  Pending" in shown
    assert "stage:     predicate" in shown
    assert "it can never start as things are" in shown
    assert "no node is that large: a pod needs cpu 9999" in " ".join(shown.split())
    assert "unblock:   add nodes with room for 2 more pods of cpu 9999" in shown
    assert "(checked: simulated, the job starts within" in shown
    cpu = next(line.split() for line in shown.splitlines() if line.startswith("cpu "))
    assert cpu[1] == "19998"
    detail = json.loads(shell.good("vcctl job explain huge -o json").out)
    assert detail["explanation"]["stage"] == "predicate"
    assert detail["explanation"]["permanent"] is True
    assert detail["remedy"]["checked"] is True
    amount = detail["explanation"]["amounts"][0]
    units = {
        key: parse_quantity(amount[key], decimals=3) for key in ("needed", "available", "missing")
    }
    assert units["missing"] == units["needed"] - units["available"]
    shell.good("vcctl job delete huge")


def test_explain_of_a_job_that_runs(shell: Shell) -> None:
    shell.good("vcctl job run -N runner")
    becomes(shell, "runner", "Running", "Completed")
    assert "reason:" in shell.good("vcctl job explain runner").out


def test_the_timeline_of_a_job(shell: Shell) -> None:
    shell.good("vcctl job run -N timed")
    becomes(shell, "timed", "Running", "Completed")
    found = json.loads(shell.good("vcctl job timeline timed -o json").out)
    steps = [step["step"] for step in found["steps"]]
    assert steps[0] == "submitted"
    assert {"enqueued", "bound", "running"} <= set(steps)
    assert len(found["traceId"]) == 32
    shown = shell.good("vcctl job timeline -n timed").out
    assert f"\ntrace  {found['traceId']}\n" in shown
    assert found["traceLink"] == ""


def test_the_timeline_of_a_job_that_has_ended_leaves_no_step_out(
    shell: Shell, tmp_path: Path
) -> None:
    """Its pod group is gone by then."""
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(gang("finished", plugins={}, run_seconds=1.0)))
    shell.good(f"vcctl job run -f {file}")
    becomes(shell, "finished", "Completed")

    def told() -> list[tuple[str, str]]:
        found = json.loads(shell.good("vcctl job timeline finished -o json").out)
        return [(step["step"], step["detail"]) for step in found["steps"]]

    assert told()[1] == ("admitted", "pod group made")
    assert [step for step, _ in told() if step != "completing"] == [
        "submitted", "admitted", "enqueued", "bound", "running", "completed",
    ]  # fmt: skip
    assert told()[-1] == ("completed", "ended")


# -- pods, flows -----------------------------------------------------------------------------------


def test_pods_of_jobs(shell: Shell) -> None:
    shell.good("vcctl job run -N podded -r 2 -m 2")
    eventually(lambda: len(shell.good("vcctl pod list -j podded").rows()) == 2, "two pods")
    listed = shell.good("vcctl pod list -j podded -q default")
    assert listed.out.splitlines()[0].split() == ["Name", "Ready", "Status", "Restart", "Age"]
    assert listed.rows()[0][0].startswith("podded-")
    wide = shell.good("vcctl pod list -j podded -o wide --all-namespaces")
    assert wide.out.split()[0] == "Namespace"
    assert "podded" in wide.rows()[0]
    assert shell.good("vcctl pod list -j ghost").out == "No resources found\n"
    items = json.loads(shell.good("vcctl pod list -j podded -o json").out)["items"]
    assert [item["kind"] for item in items] == ["Pod", "Pod"]


def test_flows_and_templates(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "flows.yaml"
    file.write_text(FLOWS.replace("step", "stage"))
    for kind, name, titles in (
        ("jobtemplate", "stage", ["Name", "Namespace"]),
        ("jobflow", "stages", ["Name", "Namespace", "Phase", "Age"]),
    ):
        made = shell.good(f"vcctl {kind} create -f {file}").out
        assert made == f"create {kind} {name} successfully\n"
        listed = shell.good(f"vcctl {kind} list")
        assert listed.out.splitlines()[0].split() == titles
        assert [name, "default"] in [row[:2] for row in listed.rows()]
        assert shell.good(f"vcctl {kind} get -N {name}").rows()[0][0] == name
        assert yaml.safe_load(shell.good(f"vcctl {kind} describe {name}").out)["spec"]
        assert shell.good(f"vcctl {kind} delete -n {name}").out.startswith(f"delete {kind}")
        assert f"there is no {kind}" in shell.bad(f"vcctl {kind} get {name}")


def test_what_is_not_supported_is_said_when_it_is_created_and_explained(
    shell: Shell, tmp_path: Path
) -> None:
    job = yaml.safe_load(JOB.replace("tried", "near"))
    job["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    file = tmp_path / "near.yaml"
    file.write_text(yaml.safe_dump(job))
    made = shell.run(f"vcctl job run -f {file}")
    assert made.code == 0, made.err
    assert made.err.startswith("Warning: spec.networkTopology: mode hard is not supported")
    eventually(lambda: "stage:     unsupported" in shell.run("vcctl job explain near").out, "why")
    shown = shell.good("vcctl job explain near").out
    assert "spec.networkTopology: mode hard is not supported by this release" in " ".join(
        shown.split()
    )
    shell.good("vcctl job delete -N near")


# -- sisters ---------------------------------------------------------------------------------------


def test_the_slurm_like_tools(shell: Shell) -> None:
    assert shell.good("vsub -n slurm -N default -c ls").out == "run job slurm successfully\n"
    becomes(shell, "slurm", "Running")
    assert "slurm" in [row[0] for row in shell.good("vjobs").rows()]
    assert '["ls"]' in shell.good("vjobs -n slurm").out
    titles = shell.good("vqueues").out.splitlines()[0].split()
    assert titles == ["Name", "Weight", "State", "Inqueue", "Pending", "Running", "Unknown"]
    assert shell.good("vqueues -n default").rows()[0][0] == "default"
    shell.good("vsuspend -n slurm -N default")
    becomes(shell, "slurm", "Aborted")
    shell.good("vresume slurm")
    assert shell.good("vcancel -n slurm").out == "cancel job slurm successfully\n"
    gone = "vcancel: there is no job 'slurm'"
    eventually(lambda: shell.run("vcancel -n slurm").err.startswith(gone), "it is gone")
    assert "which job?" in shell.bad("vsuspend", code=2)


def test_vsub_takes_its_defaults_from_the_environment(shell: Shell) -> None:
    given = {"VOLCANO_DEFAULT_IMAGE": "alpine", "VOLCANO_DEFAULT_JOB_NAMESPACE": "default"}
    shell._replace(extra=given).good("vsub -n imaged")
    assert "Image:       alpine" in shell.good("vjobs imaged").out


def test_the_kubectl_plugin_is_vcctl(shell: Shell) -> None:
    assert shell.good("kubectl-vc queue get default").rows()[0][0] == "default"
    assert shell.bad("kubectl-vc job view ghost").startswith("kubectl vc: there is no job")


def test_kubectl_runs_the_plugin(shell: Shell, tmp_path: Path) -> None:
    """Real kubectl, which finds `kubectl-vc` on the PATH."""
    typist = Typist(shell.kubeconfig, folder=tmp_path)
    assert typist.good("kubectl vc version").startswith("vcctl ")
    assert typist.good("kubectl vc queue list").split()[: len(QUEUE_TITLES.split())] == (
        QUEUE_TITLES.split()
    )
    assert "kubectl vc: there is no job 'ghost'" in typist.type("kubectl vc job view ghost").err
    assert "kubectl-vc" in typist.good("kubectl plugin list")


def test_vsub_takes_a_file(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(gang("from-a-file", plugins={})))
    assert shell.good(f"vsub -f {file}").out == "run job from-a-file successfully\n"
    shell.good("vcancel from-a-file")


def test_what_needs_no_cluster() -> None:
    alone = Shell(Path("no-such-kubeconfig"))
    assert alone.good("vcctl version").out.startswith("vcctl ")
    assert alone.good("vcctl version -k no-such-file -s http://nowhere").out.startswith("vcctl ")
    assert (
        "complete -o bashdefault -F _shtab_vcctl vcctl" in alone.good("vcctl completion bash").out
    )
    names = " ".join(str(file) for file in sorted(EXAMPLES.glob("*.yaml")))
    assert "0 would be refused" in alone.good(f"vcctl validate -f {names}").out
    assert alone.bad("vcctl job list") == (
        "vcctl: no-such-kubeconfig: No such file or directory; "
        "name a readable file in KUBECONFIG or the flag for it\n"
    )
    assert "required: COMMAND" in alone.bad("vcctl job", code=2)


@pytest.mark.parametrize(
    "script",
    ["vcctl", "kubectl-vc", "vsub", "vjobs", "vqueues", "vcancel", "vsuspend", "vresume"],
)
def test_a_script_is_installed_and_helps(script: str) -> None:
    done = subprocess.run([str(BIN / script), "-h"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: ")


# -- terminals and streams -------------------------------------------------------------------------


def test_watch_shows_rows_as_they_change_and_ends_with_ctrl_c(shell: Shell) -> None:
    process = subprocess.Popen(
        [str(BIN / "vcctl"), "job", "list", "--watch", "--selector", "watched"],
        env=shell.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().split() == LIST_TITLES.split()
        shell.good("vcctl job run -N watched")
        for line in process.stdout:
            assert line.split()[0] == "watched"
            if "Running" in line.split():
                break
        process.send_signal(2)
        assert process.wait(timeout=10) == 130
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("kind", ["pod", "queue"])
def test_pods_and_queues_can_be_watched_too(shell: Shell, kind: str) -> None:
    name = f"seen-{kind}"
    process = subprocess.Popen(
        [str(BIN / "vcctl"), kind, "list", "--watch"],
        env=shell.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().split()[0] == "Name"
        shell.good(f"vcctl queue create {name}" if kind == "queue" else f"vcctl job run {name}")
        for line in process.stdout:
            if line.startswith(name):
                break
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_terminal_gets_colours(shell: Shell) -> None:
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in shell.environment().items() if k != "NO_COLOR"}
    subprocess.run(
        [str(BIN / "vcctl"), "queue", "get", "default"], env=environment, stdout=theirs, check=True
    )
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    assert "\x1b[32mOpen" in shown


def test_a_reader_that_leaves_is_no_fault(shell: Shell) -> None:
    command = f"{BIN / 'vcctl'} job list -o json | head -1"
    done = subprocess.run(
        ["sh", "-c", command], env=shell.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "{\n"
    assert done.stderr == ""
