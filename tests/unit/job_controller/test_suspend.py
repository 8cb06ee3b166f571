"""Suspend and resume: AbortJob and ResumeJob, on the in-memory stack."""

from tests.simulation.stack import Stack, gang_job
from tests.unit.job_controller.stack import on_stack, phase
from vc.model.api.kinds import COMMANDS
from vc.model.api.struct import JsonObject


def test_suspend_and_resume() -> None:
    def order(action: str) -> JsonObject:
        return {
            "apiVersion": COMMANDS.api_version,
            "kind": COMMANDS.kind,
            "metadata": {"generateName": "a-"},
            "action": action,
        }

    async def scenario(stack: Stack) -> None:
        made = await stack.submit(gang_job("a", run_seconds=20))
        target = {k: made[k] for k in ("apiVersion", "kind")}
        target |= {"name": "a", "uid": made["metadata"]["uid"]}
        await phase(stack, "a", "Running")
        abort = {**order("AbortJob"), "target": target}
        await stack.cluster.create(COMMANDS, abort, namespace="default")
        await phase(stack, "a", "Aborted", seconds=60)
        assert stack.pods() == []
        resume = {**order("ResumeJob"), "target": target}
        await stack.cluster.create(COMMANDS, resume, namespace="default")
        await phase(stack, "a", "Completed", seconds=60)
        assert stack.job("a").status.retry_count == 1
        await stack.clock.sleep(2)
        assert not stack.api.list(stack.api.registry.for_kind(COMMANDS)).items

    on_stack(scenario)
