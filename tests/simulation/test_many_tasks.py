"""Jobs of many tasks in a whole stack."""

import msgspec

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.model.api.kinds import PODS
from vc.model.api.struct import JsonObject

TASKS = 130


def many_tasks(count: int) -> JsonObject:
    body = gang_job("many", replicas=1, cpu="10m", run_seconds=30, plugins={"svc": []})
    (task,) = body["spec"]["tasks"]
    task["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Mi"
    body["spec"]["tasks"] = [{**task, "name": f"task-{n}"} for n in range(count)]
    body["spec"]["minAvailable"] = count
    return body


def test_a_job_of_130_tasks_that_know_one_another_starts() -> None:
    async def main() -> None:
        async with Stack(seed=3, services=(*CORE, "plugin-svc")) as stack:
            await stack.clock.sleep(5)
            await stack.submit(many_tasks(TASKS))
            await stack.until(
                lambda: sum(p.status.phase == "Running" for p in stack.pods()) == TASKS,
                seconds=60,
                what="all of it runs",
            )
            raw = stack.api.list(stack.api.registry.for_kind(PODS)).items[0]
            (container,) = msgspec.json.decode(raw)["spec"]["containers"]
            names = [variable["name"] for variable in container["env"]]
            assert len(names) == 3 * TASKS
            assert "VC_TASK_129_HOSTS" in names
            assert stack.problems == []

    run_virtual(main())
