"""Commands: a user who opens or closes a queue must be allowed to update that queue."""

from vc.model.api.job import Command
from vc.model.api.kinds import QUEUES
from vc.validation.access import UPDATE_QUEUE, access_check, is_ours
from vc.validation.request import ReviewRequest
from vc.validation.result import ValidationResult
from vc.validation.world import World


def ordered_queue(command: Command) -> str:
    """The queue that a Command is for, or empty if its target is of another kind."""
    target = command.target
    return target.name if target is not None and target.kind == QUEUES.kind else ""


def needs_right(request: ReviewRequest, world: World) -> bool:
    """Whether the right to update the queue is checked.

    It is not checked in our namespace, where only users with their own rights
    write, and not for our services.
    """
    return request.namespace != world.settings.system_namespace and not is_ours(request, world)


def check_command(
    found: ValidationResult, command: Command, *, request: ReviewRequest, world: World
) -> None:
    """Check a Command that is created or changed."""
    queue = ordered_queue(command)
    # A Command for a job is in the namespace of the job, so the right to create it is enough.
    if not queue or not needs_right(request, world):
        return
    if access_check(request.user_info, verb=UPDATE_QUEUE, queue=queue) not in world.granted:
        found.refuse(
            "target.name",
            f"{request.user_info.username!r} may not update this queue, and so may not open or close "
            "it; have that right granted, or let a user who has it send the Command",
            value=queue,
        )
