"""Every command line of the documents our users started from, letter for letter, and where it stands.

`test_seed_commands` compares the list with the documents where they are, and runs each line on the
embedded cluster; `tests/integration/deploy/test_recipe` runs each on a real kube-apiserver with real
kubectl and helm. A line that cannot be run on one of them says why.
"""

import re
from typing import Final, NamedTuple

COMMAND: Final = re.compile(r"(?:kubectl|helm|vcctl) (?=[a-z])")
"""Where a command begins; the documents lost their line ends, so it may be anywhere in a line."""
BLANK: Final = "<name>"
FILLED: Final = "some-job"
"""The job that stands where a document leaves the name to its reader."""
REPOSITORY_CHART: Final = "volcano-sh/volcano"
"""Another project's chart; ours is named by its path in its place, and nothing else is changed."""

_INSIDE: Final = "the embedded cluster has every service inside it: there is nothing to install"
_ELSEWHERE: Final = (
    "it asks another project's server on the internet, and for another project's files"
)
_NO_KUBELET: Final = "KWOK's nodes have no kubelet that the API server could ask for a log"
_ROWS: Final = r"(?:.*\n)*"
_QUEUES: Final = r"Name +Weight +State +Parent +Inqueue +Pending +Running +Unknown +Completed\n"
_PODS: Final = r"NAME +READY +STATUS +RESTARTS +AGE"


class SeedCommand(NamedTuple):
    """A command line of a document."""

    document: str
    """The number that the document's name begins with."""
    line: int
    text: str
    out: str
    """A regular expression of all that it prints."""
    then: str = ""
    """How the document goes on in the same line."""
    not_embedded: str = ""
    not_real: str = ""
    """Why it is not run there."""

    @property
    def typed(self) -> str:
        """With the name that a document leaves open."""
        return self.text.replace(BLANK, FILLED)


def _install(document: str, line: int, text: str, *, then: str = "") -> SeedCommand:
    out = rf"NAME: volcano\n{_ROWS}STATUS: deployed\n{_ROWS}"
    return SeedCommand(document, line, text, out, then=then, not_embedded=_INSIDE)


def _of_others(document: str, line: int, text: str) -> SeedCommand:
    return SeedCommand(document, line, text, "", not_embedded=_ELSEWHERE, not_real=_ELSEWHERE)


COMMANDS: Final = (
    _install(
        "000",
        4,
        "helm install volcano volcano-sh/volcano -n volcano-system --create-namespace",
        then=". Create aQueuefor your team",
    ),
    _of_others("000", 37, "helm repo add volcano-sh https://volcano-sh.github.io/helm-charts"),
    _of_others("000", 38, "helm repo update"),
    _install(
        "000",
        39,
        "helm install volcano volcano-sh/volcano \\\n-n volcano-system \\\n--create-namespace \\\n"
        "--set basic.scheduler.enabled=true \\\n--set basic.controller.enabled=true \\\n"
        "--set basic.admission.enabled=true",
    ),
    SeedCommand(
        "000",
        45,
        "kubectl get pods -n volcano-system",
        rf"{_PODS}\n{_ROWS}volcano-scheduler\S* {_ROWS}",
        then="Step 2: Create Queues",
    ),
    SeedCommand("000", 204, "kubectl get queue -o wide", rf"NAME .*\n{_ROWS}training-queue {_ROWS}"),
    SeedCommand(
        "000",
        205,
        "kubectl get vcjob -A",
        rf"NAMESPACE +NAME +STATUS .*\n{_ROWS}ml-training +distributed-training +\w+ {_ROWS}",
    ),
    SeedCommand(
        "000",
        207,
        "kubectl annotate queue dev-queue volcano.sh/overuse-tolerance=0",
        r"queue\.scheduling\.volcano\.sh/dev-queue annotated\n",
        then="Issue 2: Jobs stuck in Pending",
    ),
    SeedCommand(
        "000",
        209,
        "kubectl logs -n volcano-system deploy/volcano-scheduler --tail=100",
        r"(?:.+\n){1,100}",
        not_real=_NO_KUBELET,
    ),
    SeedCommand(
        "000",
        211,
        "kubectl get queue training-queue -o yaml | grep -A5 status",
        rf"{_ROWS}status:\n  \w+:.*\n{_ROWS}",
    ),
    SeedCommand(
        "000",
        213,
        "kubectl get pods -n ml-training -o jsonpath='{.items[*].spec.schedulerName}'",
        r"volcano(?: volcano){3}",
        then="Best Practices",
    ),
    _of_others("001", 504, "helm repo add volcano-sh https://volcano-sh.github.io/helm-charts"),
    _of_others("001", 505, "helm repo update"),
    _install(
        "001", 506, "helm install volcano volcano-sh/volcano -n volcano-system --create-namespace"
    ),
    _of_others(
        "001",
        508,
        "kubectl apply -f https://raw.githubusercontent.com/volcano-sh/volcano/master/installer/"
        "volcano-development.yaml",
    ),
    SeedCommand(
        "001",
        510,
        "kubectl get pods -n volcano-system",
        rf"{_PODS}\n{_ROWS}volcano-scheduler\S* {_ROWS}",
    ),
    SeedCommand("001", 514, "vcctl queue list", rf"{_QUEUES}{_ROWS}training-queue +4 +Open {_ROWS}"),
    SeedCommand(
        "001", 516, "vcctl queue create -n my-queue -w 2", r"create queue my-queue successfully\n"
    ),
    SeedCommand("001", 518, "vcctl job list", rf"Name +Creation +Phase .*\n{_ROWS}my-job {_ROWS}"),
    SeedCommand(
        "001", 519, "vcctl job view -n my-job", rf"Name: +my-job\n{_ROWS}Events:\s{_ROWS}"
    ),
    SeedCommand("001", 521, "vcctl job suspend -n my-job", r"suspend job my-job successfully\n"),
    SeedCommand("001", 522, "vcctl job resume -n my-job", r"resume job my-job successfully\n"),
    SeedCommand("001", 524, "vcctl job delete -n my-job", r"delete job my-job successfully\n"),
    SeedCommand(
        "003",
        18,
        "kubectl get crd jobs.batch.volcano.sh podgroups.scheduling.volcano.sh",
        r"NAME +CREATED AT\njobs\.batch\S+ .*\npodgroups\.scheduling\S+ .*\n",
        then=". - GPU Operator",
    ),
    SeedCommand(
        "003",
        189,
        "kubectl apply -f torchrun-gang.yaml",
        r"job\.batch\.volcano\.sh/torchrun-gang created\n",
    ),
    SeedCommand(
        "003",
        191,
        "kubectl get jobs.batch.volcano.sh -n ml",
        r"NAME +STATUS .*\ntorchrun-gang +Running +3 .*\n",
        then=" # or: ",
    ),
    SeedCommand(
        "003", 191, "kubectl get vcjob -n ml", r"NAME +STATUS .*\ntorchrun-gang +Running +3 .*\n"
    ),
    SeedCommand(
        "003",
        193,
        "kubectl get podgroup -n ml -o wide",
        r"NAME +STATUS .*\ntorchrun-gang +Running +3 +3 .*\n",
        then=" # short name: pg",
    ),
    SeedCommand(
        "003",
        195,
        "kubectl get pod -n ml -l volcano.sh/job-name=torchrun-gang -o wide",
        rf"{_PODS} .*\n(?:torchrun-gang-(?:master-0|worker-[01]) +\S+ +Running .*\n){{3}}",
    ),
    SeedCommand(
        "003",
        197,
        "kubectl get vcjob",
        rf"NAME +STATUS .*\n{_ROWS}some-job {_ROWS}",
        then="STATUS moves",
    ),
    SeedCommand(
        "003",
        197,
        "kubectl get pg",
        rf"NAME +STATUS .*\n{_ROWS}some-job {_ROWS}",
        then="showsphase: Running",
    ),
    SeedCommand(
        "003",
        199,
        "kubectl logs -n ml -l volcano.sh/job-name=torchrun-gang,volcano.sh/task-spec=master",
        r"(?:.+\n)+",
        then=". WithNCCL_DEBUG=INFO",
        not_real=_NO_KUBELET,
    ),
    SeedCommand(
        "003", 228, "kubectl get vcjob <name>", r"NAME +STATUS .*\nsome-job +\w+ .*\n", then=","
    ),
    SeedCommand(
        "003",
        228,
        "kubectl get pod -l volcano.sh/job-name=<name>",
        rf"{_PODS}\nsome-job-\S+ .*\n",
        then=", PodGroupphase",
    ),
)  # fmt: skip

PROSE: Final = (("002", 99, "kubectl plugins, e.g. show Job/Queue information"),)
"""What only looks like a command."""


def found_in(document: str, text: str) -> list[str]:
    """What is wrong with the list, compared with a document's text."""
    wrong = []
    wanted = [command for command in COMMANDS if command.document == document]
    prose = {(number, words) for name, number, words in PROSE if name == document}
    left = iter(wanted)
    for match in COMMAND.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        rest = text[match.start() :]
        if any(number == line and rest.startswith(words) for line, words in prose):
            continue
        command = next(left, None)
        if command is None or command.line != number or not _is_whole(command, rest):
            shown = rest.partition("\n")[0]
            wrong.append(f"line {number} has {shown!r}, the list {command and command.text!r}")
    wrong += [f"line {command.line}: {command.text!r} is not in it" for command in left]
    return wrong


def _is_whole(command: SeedCommand, rest: str) -> bool:
    """Whether the document has this text there, and goes on as the list says."""
    after = rest.removeprefix(command.text).partition("\n")[0]
    goes_on = after.startswith(command.then) if command.then else not after.strip()
    return rest.startswith(command.text) and goes_on
