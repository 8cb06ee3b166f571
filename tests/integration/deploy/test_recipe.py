"""The users' own recipe, step by step and command by command, after `helm install` on a real API server."""

import asyncio
from pathlib import Path

import pytest
import yaml

from tests.e2e.workload import gang
from tests.integration.deploy.chart import NAMESPACE
from tests.integration.deploy.everything import Everything
from tests.integration.deploy.installed import Installed
from tests.integration.parts.require import require as require_tool
from tests.integration.stack.running import eventually, require
from tests.integration.vcctl.shell import Shell
from tests.simulation.seeds import GROUND, documents
from vc_model.struct import JsonObject

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("stack"),
]

SWITCHES = ("scheduler", "controller", "admission")
ARGUMENTS = [word for part in SWITCHES for word in ("--set", f"basic.{part}.enabled=true")]
JOB = "distributed-training"


class Recipe:
    """The steps as the documents number them."""

    def __init__(self, deployment: Installed) -> None:
        self._deployment = deployment
        self._kubectl = deployment.kubectl
        self._sees = Everything(deployment.kubectl)
        self._vcctl = Shell(deployment.ground.kubeconfig)

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

    def step_1_install(self) -> None:
        assert "schedulerName volcano, queue default" in self._deployment.notes
        shown = self._kubectl.ok("get", "pods", "-n", NAMESPACE)
        for name in ("volcano-scheduler", "volcano-job-controller", "volcano-admission"):
            assert name in shown
        self._kubectl.ok("get", "crd", "jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh")
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
        wide = self._kubectl.ok("get", "queue", "-o", "wide")
        assert "training-queue" in wide
        everywhere = self._kubectl.ok("get", "vcjob", "-A").splitlines()
        assert [line.split()[2] for line in everywhere if JOB in line] == ["Pending"]
        self._kubectl.ok("annotate", "queue", "dev-queue", "volcano.sh/overuse-tolerance=0")

    def issue_2_stuck_in_pending(self) -> None:
        self._kubectl.ok("get", "-n", NAMESPACE, "deploy/volcano-scheduler")
        log = self._deployment.services["scheduler"].log
        eventually(lambda: "jobs wait" in log.read_text(), "the scheduler's log says who waits")
        status = "{.status.allocated['nvidia\\.com/gpu']}"
        self._sees.until("queue/training-queue", status, "8")
        shown = self._kubectl.ok("get", "queue", "training-queue", "-o", "yaml")
        assert "allocated:" in shown[shown.index("\nstatus:") :]
        path = "jsonpath={.items[*].spec.schedulerName}"
        named = self._kubectl.ok("get", "pods", "-n", "ml-training", "-o", path)
        assert set(named.split()) <= {"volcano"}
        why = "{.status.conditions[?(@.status=='True')].type}"
        self._sees.until(f"podgroup/{JOB} -n ml-training", why, "Unschedulable")
        assert "Unschedulable" in self._kubectl.ok("describe", "pg", JOB, "-n", "ml-training")
        self._kubectl.ok("delete", "vcjob", "urgent-training")
        self.phase(JOB, "Running", namespace="ml-training")
        self._kubectl.ok("delete", "vcjob", JOB, "-n", "ml-training")

    def hierarchical_queues(self) -> None:
        self.apply(GROUND, "dept-a", "team-a1")
        self._sees.until("queue/team-a1", "{.spec.parent} {.status.state}", "dept-a Open")
        listed = self.ok("vcctl queue list")
        assert "dept-a" in listed
        assert "team-a1" in listed
        child = gang("of-the-team", plugins={})
        child["spec"]["queue"] = "team-a1"
        self._sees.apply(child)
        self.phase("of-the-team", "Completed")

    def verify_a_gang(self) -> None:
        """`Apply & verify` of the third document, in its namespace `ml`."""
        self.apply("09-torchrun-gang.yaml")
        self.phase("torchrun-gang", "Running", namespace="ml")
        assert "torchrun-gang" in self._kubectl.ok("get", "jobs.batch.volcano.sh", "-n", "ml")
        wide = self._kubectl.ok("get", "podgroup", "-n", "ml", "-o", "wide")
        assert "torchrun-gang" in wide
        self._sees.until("pg/torchrun-gang -n ml", "{.status.running}", "3")
        label = "volcano.sh/job-name=torchrun-gang"
        pods = self._kubectl.ok("get", "pod", "-n", "ml", "-l", label, "-o", "wide").splitlines()
        assert len(pods) == 1 + 3
        self._kubectl.ok("delete", "vcjob", "torchrun-gang", "-n", "ml")

    def vcctl(self) -> None:
        self.ok("vcctl queue list")
        self.ok("vcctl queue create -n my-queue -w 2")
        self._sees.until("queue/my-queue", "{.spec.weight}", "2")
        job = next(iter(documents("06-mpi-job.yaml")))
        job["metadata"]["name"] = "my-job"
        job["spec"] |= {"queue": "my-queue", "minAvailable": 2}
        job["spec"]["tasks"][0]["replicas"] = 2
        self._sees.apply(job)
        self.phase("my-job", "Running")
        assert "my-job" in self.ok("vcctl job list")
        assert "my-job" in self.ok("vcctl job view -n my-job")
        self.ok("vcctl job suspend -n my-job")
        self.phase("my-job", "Aborted")
        self.ok("vcctl job resume -n my-job")
        self.phase("my-job", "Running")
        self.ok("vcctl job delete -n my-job")
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

    def ok(self, line: str) -> str:
        done = self._vcctl.run(line)
        assert done.code == 0, f"{line}: {done.err}"
        return done.out


async def test_the_users_recipe_works_as_it_is_written(tmp_path: Path) -> None:
    require("kafka", "redis", "kubernetes", "kwok")
    require_tool("helm", "kubectl")
    deployment = Installed(tmp_path, *ARGUMENTS)
    try:
        await deployment.start()
        deployment.add_gpu_nodes(2)
        await asyncio.to_thread(Recipe(deployment).run)
    finally:
        await deployment.stop()
