"""Every command with what it prints, in an order in which they can be run one after another.

The same table is run on the embedded cluster and on a real kube-apiserver.
"""

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

from tests.integration.stack.running import eventually
from tests.integration.vcctl.shell import Shell

ROOT: Final = Path(__file__).parents[3]
PHASE: Final = r"(Pending|Inqueue|Running|Completing|Completed|Aborting|Aborted|Restarting|-)"
"""A dash: listed before its controller has looked at it."""
JOB_TITLES: Final = (
    r"Name +Creation +Phase +JobType +Replicas +Min +Pending +Running +Succeeded +Failed +Unknown"
    r" +RetryCount\n"
)
QUEUE_TITLES: Final = (
    r"Name +Weight +State +Parent +Inqueue +Pending +Running +Unknown +Completed\n"
)
COUNTS: Final = r"(?: +\d+)+"
ROWS: Final = r"(?:.*\n)*"
SESSION_TITLES: Final = (
    r"Session +Started +Took +Nodes +Jobs +Enqueued +Bound +Evicted +Waiting +Kept\n"
)


class Case(NamedTuple):
    """A command line and the whole of what it prints."""

    line: str
    out: str
    """A regular expression."""
    soon: bool = False
    """Whether it may be a moment before it does, because others have something to do first."""


CASES: Final = (
    Case("vcctl version", r"vcctl \S+\nGit SHA \S+, built \S+\nPython \S+ on \S+ \S+\n"),
    Case("vcctl help job list", rf"usage: vcctl job list {ROWS}"),
    Case("vcctl completion bash", rf"{ROWS}complete -o bashdefault -F _shtab_vcctl vcctl\n{ROWS}"),
    Case("vcctl completion zsh", rf"#compdef vcctl\n{ROWS}"),
    Case("vcctl completion fish", rf"{ROWS}complete -c vcctl .*\n{ROWS}"),
    Case("vcctl validate -f examples/01-queues.yaml", rf"{ROWS}.*0 would be refused.*\n"),
    # The documents our users start from, as they are written there.
    Case("vcctl queue list", rf"({QUEUE_TITLES}{ROWS}|No resources found\n)"),
    Case("vcctl queue create -n my-queue -w 2", r"create queue my-queue successfully\n"),
    Case("vcctl job run -N my-job", r"run job my-job successfully\n"),
    Case(
        "vcctl job list",
        rf"{JOB_TITLES}{ROWS}my-job +\d{{4}}-\d\d-\d\d +{PHASE} +Batch +1 +1{COUNTS}\n{ROWS}",
    ),
    Case("vcctl job view -n my-job", rf"Name: +my-job\nNamespace: +default\n{ROWS}Events:{ROWS}"),
    Case("vcctl job suspend -n my-job", r"suspend job my-job successfully\n"),
    Case("vcctl job resume -n my-job", r"resume job my-job successfully\n"),
    Case("vcctl job delete -n my-job", r"delete job my-job successfully\n"),
    # Upstream's flags.
    Case(
        "vcctl job run -N full -n default -i alpine -m 1 -r 2 -R cpu=500m,memory=64Mi"
        " -L cpu=1,memory=64Mi -S volcano",
        r"run job full successfully\n",
    ),
    Case(
        "vcctl job list -n default -q default -S volcano --selector ful",
        rf"{JOB_TITLES}full +\S+ +{PHASE} +Batch +2 +1{COUNTS}\n",
    ),
    Case("vcctl job list --all-namespaces", rf"Namespace +Name{ROWS}default +full{ROWS}"),
    Case("vcctl job list -o wide", rf"Name.*Queue +Age +Priority\n{ROWS}"),
    Case("vcctl job list -o json", r"\{\n(.*\n)+\}\n"),
    Case("vcctl job list -o yaml", rf"apiVersion: {ROWS}"),
    Case("vcctl job view -N full -n default", rf"Name: +full\n{ROWS} +Image: +alpine\n{ROWS}"),
    Case(
        "vcctl job explain -N full -n default",
        r"job: +default/full  (Running|Completed)\nqueue: +default\n"
        r"reason: +(nothing holds it back|it has ended.*)\n",
        soon=True,
    ),
    Case(
        "vcctl job timeline -N full --trace-ui http://traces",
        rf"job    default/full: \w+\ntrace  http://traces/trace/[0-9a-f]{{32}}\n\n"
        rf"Time +After +Step +Detail\n\S+Z +\+0s +submitted +to queue default\n{ROWS}",
    ),
    Case("vcctl pod list", rf"(Name +Ready +Status +Restart +Age\n{ROWS}|No resources found\n)"),
    Case("vcctl pod list -j ghost -q default --all-namespaces", r"No resources found\n"),
    Case("vcctl job suspend -N full -n default", r"suspend job full successfully\n"),
    Case("vcctl job resume -N full -n default", r"resume job full successfully\n"),
    Case("vcctl job delete -N full -n default", r"delete job full successfully\n"),
    Case(
        "vcctl queue get -n my-queue",
        rf"{QUEUE_TITLES}my-queue +2 +Open +(root|-)?{COUNTS}\n",
    ),
    Case("vcctl queue operate -n my-queue -a update -w 4", r"update queue my-queue successfully\n"),
    Case("vcctl queue operate -n my-queue -a close", r"close queue my-queue successfully\n"),
    Case("vcctl queue operate -n my-queue -a open", r"open queue my-queue successfully\n"),
    Case("vcctl queue get my-queue -o yaml", rf"apiVersion: {ROWS} +weight: 4\n{ROWS}"),
    Case(
        "vcctl queue tree",
        rf"Queue +State +Weight +Resource +Share \(┃ deserved\) +Guarantee.*\nroot +Open{ROWS}.*─ my-queue +Open{ROWS}",
        soon=True,
    ),
    Case("vcctl queue waiting", rf"(queue: +\S+, \d+ jobs? waits?\n{ROWS}|no job waits\n)"),
    Case("vcctl queue create -n leaving -S Open", r"create queue leaving successfully\n"),
    Case("vcctl queue operate -n leaving -a close", r"close queue leaving successfully\n"),
    Case("vcctl queue delete -n leaving", r"delete queue leaving successfully\n", soon=True),
    # What was, what would be, and who held what.
    Case(
        "vcctl session list",
        rf"{SESSION_TITLES}(\d+-\d+ +\S+Z +[\d.]+ms( +\d+){{6}} +(yes|no)\n)+{ROWS}",
        soon=True,
    ),
    Case(
        "vcctl session show {session}",
        rf"session: +(\S+)\nstarted: .*\non: +\d+ nodes, \d+ jobs\nactions: +enqueue, allocate.*\n"
        rf"digest: +[0-9a-f]{{64}}\nagain: +vcctl session replay \1\n{ROWS}",
    ),
    Case(
        "vcctl session replay {session}",
        r"session \S+: the same, byte for byte\nrecorded: +([0-9a-f]{64})\nreplayed: +\1\n"
        r"decided: +\d+ enqueued, \d+ pods bound, \d+ evicted, \d+ jobs wait\n"
        r"on: +\d+ nodes, \d+ jobs; [\d.]+ ms\n",
    ),
    Case(
        "vcctl simulate -f {job}",
        r"job default/tried: would run, 1 pods\nPod +Node\ndefault/tried-w-0 +\S+\n\n"
        r"\(stable after \d+ sessions, with .*\)\n",
    ),
    # Whoever holds something for less than a second is charged nothing.
    Case("vcctl job run -N lasting", r"run job lasting successfully\n"),
    Case(
        "vcctl usage --by queue,day",
        rf"Queue +Day +CPU-hours +Memory GiB-hours\n{ROWS}default +\d{{4}}-\d\d-\d\d( +[\d.]+){{2}}\n{ROWS}",
        soon=True,
    ),
    Case("vcctl job delete lasting", r"delete job lasting successfully\n"),
    Case("vcctl jobtemplate create -f {flows}", r"create jobtemplate step successfully\n"),
    Case("vcctl jobflow create -f {flows}", r"create jobflow steps successfully\n"),
    Case("vcctl jobtemplate list", rf"Name +Namespace\n{ROWS}step +default\n{ROWS}"),
    Case("vcctl jobflow list", rf"Name +Namespace +Phase +Age\n{ROWS}steps +default +.*\n{ROWS}"),
    Case("vcctl jobtemplate get -N step", r"Name +Namespace\nstep +default\n"),
    Case("vcctl jobflow get -N steps", r"Name +Namespace +Phase +Age\nsteps +default +.*\n"),
    Case("vcctl jobtemplate describe -N step", rf"apiVersion: flow.volcano.sh/v1alpha1\n{ROWS}"),
    Case("vcctl jobflow describe -N steps -o json", rf"\{{\n{ROWS}\}}\n"),
    Case("vcctl jobtemplate delete -N step", r"delete jobtemplate step successfully\n"),
    Case("vcctl jobflow delete -N steps", r"delete jobflow steps successfully\n"),
    # Volcano's slurm-like tools; -n is the name there.
    Case("vsub -n sub -N default -i alpine -c ls", r"run job sub successfully\n"),
    Case("vjobs -N default", rf"{JOB_TITLES}{ROWS}sub {ROWS}"),
    Case("vjobs -n sub -N default", rf"Name: +sub\n{ROWS}"),
    Case("vqueues", rf"Name +Weight +State +Inqueue +Pending +Running +Unknown\n{ROWS}"),
    Case(
        "vqueues -n my-queue",
        rf"Name +Weight +State +Inqueue +Pending +Running +Unknown\nmy-queue +4 {ROWS}",
    ),
    Case("vsuspend -n sub -N default", r"suspend job sub successfully\n"),
    Case("vresume -n sub -N default", r"resume job sub successfully\n"),
    Case("vcancel -n sub -N default", r"cancel job sub successfully\n"),
    # As a plugin of kubectl.
    Case("kubectl-vc queue list", rf"{QUEUE_TITLES}{ROWS}"),
)

FLOWS: Final = """
apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata: {name: step}
spec:
  minAvailable: 1
  tasks:
  - {name: t, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {name: steps, annotations: {volcano.sh/allow-unsupported: "true"}}
spec: {flows: [{name: step}], jobRetainPolicy: retain}
"""


JOB: Final = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: tried}
spec:
  minAvailable: 1
  tasks:
  - {name: w, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}
"""


def written(line: str, folder: Path, *, session: str = "1-1") -> str:
    """The command line with the files it names, and a session."""
    flows, job = folder / "flows.yaml", folder / "job.yaml"
    flows.write_text(FLOWS)
    job.write_text(JOB)
    whole = line.replace("examples/", f"{ROOT / 'examples'}/")
    return whole.format(flows=flows, job=job, session=session)


def run_all(shell: Shell, folder: Path) -> None:
    """Each with the output it is said to have."""
    for case in CASES:
        session = newest_session(shell) if "{session}" in case.line else ""
        line = written(case.line, folder, session=session)
        if case.soon:
            eventually(lambda: fits(shell, line, case), case.line)  # noqa: B023 - called at once
        else:
            shown = shell.good(line).out
            assert re.fullmatch(case.out, shown), f"{case.line}:\n{shown}"


def fits(shell: Shell, line: str, case: Case) -> bool:
    ran = shell.run(line)
    return ran.code == 0 and bool(re.fullmatch(case.out, ran.out))


def newest_session(shell: Shell) -> str:
    found = json.loads(shell.good("vcctl session list --limit 1 -o json").out)
    return str(found["sessions"][0]["sessionId"])


def offline(line: str) -> bool:
    """Whether a command asks no cluster."""
    return line.startswith(("vcctl version", "vcctl help", "vcctl completion", "vcctl validate"))
