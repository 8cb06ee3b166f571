"""Commands: who orders a queue about must be allowed to change that queue."""

from vc_admission.logic.access import UPDATE_QUEUE, is_ours, question
from vc_admission.logic.findings import Findings
from vc_admission.logic.wire import Request
from vc_admission.logic.world import World
from vc_model.job import Command
from vc_model.kinds import QUEUES


def ordered_queue(command: Command) -> str:
    """The queue that a command is for; empty when it is for something else."""
    target = command.target
    return target.name if target is not None and target.kind == QUEUES.kind else ""


def needs_right(request: Request, world: World) -> bool:
    """Whether the right to change the queue is asked for: not in our namespace, where only people with
    rights of their own write, and not of our services."""
    return request.namespace != world.settings.system_namespace and not is_ours(request, world)


def check_command(found: Findings, command: Command, *, request: Request, world: World) -> None:
    """A command that is created or changed."""
    queue = ordered_queue(command)
    if not queue or not needs_right(request, world):
        return
    if question(request.user_info, verb=UPDATE_QUEUE, queue=queue) not in world.granted:
        found.refuse(
            "target.name",
            f"{request.user_info.username!r} may not update this queue, and so may not open or close "
            "it; ask for that right, or somebody who has it",
            value=queue,
        )
