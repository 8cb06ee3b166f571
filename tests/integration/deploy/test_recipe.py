"""The users' own recipe on a real API server, with real helm and kubectl: every command of their documents
is typed as it is written there (`tests/integration/vcctl/seed_commands`), or the list says why not.
"""

import asyncio
import re
from pathlib import Path

import pytest
import yaml

from tests.e2e.workload import gang
from tests.integration.deploy.chart import CHART, RELEASE
from tests.integration.deploy.everything import Everything
from tests.integration.deploy.installed import WEBHOOKS, Installed
from tests.integration.deploy.kubectl import Kubectl
from tests.integration.parts.require import require as require_tool
from tests.integration.stack.running import eventually, require
from tests.integration.vcctl.seed_commands import COMMANDS, FILLED, REPOSITORY_CHART, SeedCommand
from tests.integration.vcctl.typist import Typist
from tests.simulation.seeds import FOLDER, GROUND, documents
from vc.model.api.struct import JsonObject
from vc.parts import obtain

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("stack"),
]

JOB = "distributed-training"


class Documents:
    """Types what the documents say, and remembers what it has typed."""

    def __init__(self, typist: Typist) -> None:
        self.typist = typist
        self._left = [command for command in COMMANDS if not command.not_real]

    def type(self, text: str, *, instead: tuple[str, str] = ("", "")) -> str:
        """A line of the documents, for all places that have it; it prints what the list says, soon."""
        found = [command for command in COMMANDS if command.text == text]
        assert found, f"no document says {text!r}"
        line = found[0].typed.replace(*instead) if instead[0] else found[0].typed
        shown = ""

        def fits(command: SeedCommand) -> bool:
            nonlocal shown
            ran = self.typist.type(line)
            shown = ran.out
            return ran.code == 0 and bool(re.fullmatch(command.out, ran.out))

        if text.startswith("kubectl get"):
            eventually(lambda: fits(found[0]), text)
        else:
            assert fits(found[0]), f"{text}:\n{shown}\n{self.typist.type(line).err}"
        self._left = [command for command in self._left if command.text != text]
        return shown

    def untyped(self) -> list[str]:
        """What was to be typed and was not."""
        return [command.text for command in self._left]


class AsWritten(Installed):
    """Installed by the documents' own lines, one after the other, with our chart in the repository's place."""

    def _install(self, admission_port: int) -> None:
        helm = str(obtain("helm").path)
        self.documents = Documents(
            Typist(self.ground.kubeconfig, folder=self.home / "typed", helm=helm)
        )
        chart = (REPOSITORY_CHART, str(CHART))
        lines = sorted({c.text for c in COMMANDS if c.text.startswith("helm install")}, key=len)
        for number, line in enumerate(lines):
            if number:
                self.documents.typist.good(f"helm uninstall {RELEASE} -n volcano-system --wait")
            self.notes = self.documents.type(line, instead=chart)
        for kind in WEBHOOKS:
            self._lead_to_process(kind, admission_port)


class Recipe:
    """The steps as the documents number them."""

    def __init__(self, deployment: AsWritten) -> None:
        self._deployment = deployment
        self._kubectl: Kubectl = deployment.kubectl
        self._sees = Everything(deployment.kubectl)
        self._documents = deployment.documents
        self._type = deployment.documents.type

    def run(self) -> None:
        for step in (
            self.step_1_install,
            self.step_2_queues,
            self.step_3_gang,
            self.step_4_preemption,
            self.issue_1_deadlock,
            self.issue_2_stuck_in_pending,
            self.hierarchical_queues,
            self.verify_a_gang,
            self.vcctl,
        ):
            step()
            print(f"  {step.__name__.replace('_', ' ')}: as written", flush=True)
        assert self._documents.untyped() == []

    def step_1_install(self) -> None:
        assert "schedulerName volcano, queue default" in self._deployment.notes
        where = "PYROCLAST_DASHBOARD_URL=volcano-system/volcano-dashboard"
        assert where in self._deployment.notes
        shown = self._type("kubectl get pods -n volcano-system")
        for name in ("volcano-scheduler", "volcano-job-controller", "volcano-admission"):
            assert name in shown
        self._type("kubectl get crd jobs.batch.volcano.sh podgroups.scheduling.volcano.sh")
        self._sees.until("queue/default", "{.status.state}", "Open")

    def step_2_queues(self) -> None:
        self.apply(GROUND, "training-queue", "inference-queue", "dev-queue", "ml-training", "ml")
        for name in ("training-queue", "inference-queue", "dev-queue"):
            self._sees.until(f"queue/{name}", "{.status.state}", "Open")

    def step_3_gang(self) -> None:
        """Four pods of four GPUs on two nodes of eight: it fits exactly, and all or none."""
        self.apply("02-distributed-training.yaml")
        self._sees.until("pods -n ml-training", "{.items[*].status.phase}", "Running")
        self.phase(JOB, "Running", namespace="ml-training")
        self._sees.until(
            f"podgroup/{JOB} -n ml-training", "{.status.phase} {.spec.minMember}", "Running 4"
        )
        for owned in (f"service/{JOB}", f"secret/{JOB}-ssh", f"configmap/{JOB}-svc"):
            self._kubectl.ok("get", owned, "-n", "ml-training")

    def step_4_preemption(self) -> None:
        """The urgent job takes the GPUs; the gang of four, whole, waits."""
        self.apply(GROUND, "production-training", "dev-experiment")
        self.apply("03-urgent-training.yaml")
        self.phase("urgent-training", "Running")
        self.phase(JOB, "Pending", namespace="ml-training")

    def issue_1_deadlock(self) -> None:
        self._type("kubectl get queue -o wide")
        everywhere = self._type("kubectl get vcjob -A").splitlines()
        assert [line.split()[2] for line in everywhere if JOB in line] == ["Pending"]
        self._type("kubectl annotate queue dev-queue volcano.sh/overuse-tolerance=0")
        annotated = "{.metadata.annotations['volcano\\.sh/overuse-tolerance']}"
        self._sees.until("queue/dev-queue", annotated, "0")

    def issue_2_stuck_in_pending(self) -> None:
        self._kubectl.ok("get", "-n", "volcano-system", "deploy/volcano-scheduler")
        log = self._deployment.services["scheduler"].log
        eventually(lambda: " pending=" in log.read_text(), "the scheduler's log says who waits")
        status = "{.status.allocated['nvidia\\.com/gpu']}"
        self._sees.until("queue/training-queue", status, "8")
        shown = self._type("kubectl get queue training-queue -o yaml | grep -A5 status")
        assert "allocated:" in shown[shown.index("status:\n") :]
        why = "{.status.conditions[?(@.status=='True')].type}"
        self._sees.until(f"podgroup/{JOB} -n ml-training", why, "Unschedulable")
        assert "Unschedulable" in self._kubectl.ok("describe", "pg", JOB, "-n", "ml-training")
        self._kubectl.ok("delete", "vcjob", "urgent-training")
        self.phase(JOB, "Running", namespace="ml-training")
        self._type("kubectl get pods -n ml-training -o jsonpath='{.items[*].spec.schedulerName}'")
        self._kubectl.ok("delete", "vcjob", JOB, "-n", "ml-training")

    def hierarchical_queues(self) -> None:
        self.apply(GROUND, "dept-a", "team-a1")
        self._sees.until("queue/team-a1", "{.spec.parent} {.status.state}", "dept-a Open")
        listed = self._type("vcctl queue list")
        assert "dept-a" in listed
        assert "team-a1" in listed
        child = gang("of-the-team", plugins={})
        child["spec"]["queue"] = "team-a1"
        self._sees.apply(child)
        self.phase("of-the-team", "Completed")

    def verify_a_gang(self) -> None:
        """`Apply & verify` of the third document, in its namespace `ml`."""
        file = self._documents.typist.folder / "torchrun-gang.yaml"
        file.write_text((FOLDER / "09-torchrun-gang.yaml").read_text())
        self._type("kubectl apply -f torchrun-gang.yaml")
        self._type("kubectl get jobs.batch.volcano.sh -n ml")
        self._type("kubectl get vcjob -n ml")
        self._type("kubectl get podgroup -n ml -o wide")
        self._type("kubectl get pod -n ml -l volcano.sh/job-name=torchrun-gang -o wide")
        self._documents.typist.good(f"vcctl job run -N {FILLED}")
        self.phase(FILLED, "Running")
        self._type("kubectl get vcjob")
        self._type("kubectl get pg")
        self._type("kubectl get vcjob <name>")
        self._type("kubectl get pod -l volcano.sh/job-name=<name>")
        for line in (f"vcjob {FILLED}", "vcjob torchrun-gang -n ml"):
            self._kubectl.ok("delete", *line.split())

    def vcctl(self) -> None:
        self._type("vcctl queue create -n my-queue -w 2")
        self._sees.until("queue/my-queue", "{.spec.weight}", "2")
        job = next(iter(documents("06-mpi-job.yaml")))
        job["metadata"]["name"] = "my-job"
        job["spec"] |= {"queue": "my-queue", "minAvailable": 2}
        job["spec"]["tasks"][0]["replicas"] = 2
        self._sees.apply(job)
        self.phase("my-job", "Running")
        self._type("vcctl job list")
        self._type("vcctl job view -n my-job")
        self._type("vcctl job suspend -n my-job")
        self.phase("my-job", "Aborted")
        self._type("vcctl job resume -n my-job")
        self.phase("my-job", "Running")
        self._type("vcctl job delete -n my-job")
        self._sees.gone("vcjob/my-job")

    # -- words -----------------------------------------------------------------------------------

    def apply(self, file: str, *names: str) -> None:
        """The file's documents, or those of these names."""
        wanted: list[JsonObject] = [
            document
            for document in documents(file)
            if not names or document["metadata"]["name"] in names
        ]
        self._kubectl.ok("apply", "-f", "-", given=yaml.safe_dump_all(wanted))

    def phase(self, job: str, wanted: str, *, namespace: str = "default") -> None:
        self._sees.until(f"vcjob/{job} -n {namespace}", "{.status.state.phase}", wanted)


async def test_the_users_recipe_works_as_it_is_written(tmp_path: Path) -> None:
    require("kafka", "redis", "kubernetes", "kwok")
    require_tool("helm", "kubectl")
    deployment = AsWritten(tmp_path)
    try:
        await deployment.start()
        deployment.add_gpu_nodes(2)
        await asyncio.to_thread(Recipe(deployment).run)
    finally:
        await deployment.stop()
