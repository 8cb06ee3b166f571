"""Remedies as plain English sentences, one per part, in the units that users write."""

from collections.abc import Callable
from typing import Final

from vc.messages.sessions import Unblock
from vc.scheduling.explain.candidates import NEW_CLASS, PLENTY
from vc.scheduling.model.amounts import PODS, shown_all
from vc.scheduling.placement.wanted_nodes import shown_where

JOBS_NAMED_MAX: Final = 5


def remedy_steps(remedy: Unblock) -> list[str]:
    """Return one sentence for each part of the remedy."""
    return [_step(part) for part in (remedy, *remedy.also)]


def _step(part: Unblock) -> str:
    text = _TEXTS.get(part.action)
    return text(part) if text is not None else f"{part.action} {part.target}".strip()


def _nodes(part: Unblock) -> str:
    place = shown_where(part.where) if part.where is not None else ""
    amounts = shown_all({name: n for name, n in part.amounts.items() if name != PODS})
    if part.pods:
        return f"add nodes with room for {_pods(part.pods)} of {amounts} each{place}"
    return f"add nodes with {amounts} in all{place}"


def _raise(what: str) -> Callable[[Unblock], str]:
    """Return the text function for a limit that is raised by an amount or removed."""

    def text(part: Unblock) -> str:
        # The search raises a limit by `PLENTY` to remove it; that number means nothing to a user.
        lifted = sorted(name for name, amount in part.amounts.items() if amount >= PLENTY)
        raised = {name: n for name, n in part.amounts.items() if name not in lifted}
        steps = [f"raise the {what} {part.target!r} by {shown_all(raised)}"] if raised else []
        if lifted:
            steps.append(f"lift the limit on {', '.join(lifted)} of the {what} {part.target!r}")
        return " and ".join(steps)

    return text


def _deserved(part: Unblock) -> str:
    return f"raise what queue {part.target!r} deserves by {shown_all(part.amounts)}"


def _priority(part: Unblock) -> str:
    if part.target == NEW_CLASS:
        return f"give the job a PriorityClass with a value of at least {part.priority}"
    return f"give the job the PriorityClass {part.target!r} (value {part.priority})"


def _shrink(part: Unblock) -> str:
    of_task = f"the pods of task {part.target!r}" if part.target else "its pods"
    return f"lower the requests of {of_task} to {shown_all(part.amounts)} each"


def _end(part: Unblock) -> str:
    named = ", ".join(part.jobs[:JOBS_NAMED_MAX])
    more = len(part.jobs) - JOBS_NAMED_MAX
    others = f" and {more} more" if more > 0 else ""
    verb = "finish or are deleted" if len(part.jobs) > 1 else "finishes or is deleted"
    return f"wait until {named}{others} {verb}"


def _wait(part: Unblock) -> str:
    return f"wait until {part.target} has started" if part.target else "wait"


def _pods(count: int) -> str:
    return "1 more pod" if count == 1 else f"{count} more pods"


def _named(form: str) -> Callable[[Unblock], str]:
    return lambda part: form.format(
        target=part.target, pods=part.pods, more=_pods(part.pods), weight=part.weight
    )


_TEXTS: Final[dict[str, Callable[[Unblock], str]]] = {
    "add-room": _nodes,
    "reach-volume": lambda part: (
        f"{_nodes(part)}, where the volume of claim {part.target} is reached"
    ),
    "raise-capability": _raise("capability of queue"),
    "raise-quota": _raise("ResourceQuota"),
    "raise-deserved": _deserved,
    "raise-priority": _priority,
    "shrink-request": _shrink,
    "end-jobs": _end,
    "wait": _wait,
    "create-queue": _named("create queue '{target}'"),
    "open-queue": _named("open queue '{target}'"),
    "move-job": _named("move the job to one of the queues {target}"),
    "raise-weight": _named("raise the weight of queue '{target}' to {weight}"),
    "allow-reclaim": _named("set reclaimable: true on queue {target}"),
    "lift-budget": _named("relax the PodDisruptionBudget {target}"),
    "lower-minimum": _named("lower minAvailable to {pods}"),
    "create-pods": _named("{more} of {target} must be created"),
    "lift-gates": _named("remove the scheduling gates of {pods} pods of {target}"),
    "create-peer": _named("start a pod with the labels {target}, which its affinity asks for"),
    "create-claim": _named("create claim {target}"),
    "create-volume": _named("create volume {target}"),
    "bind-claim": _named("bind claim {target} to a volume"),
    "free-claim": _named("end the pod that uses claim {target}"),
    "add-volume": _named("create a free volume that suits claim {target}"),
    "remove-field": _named(
        "remove {target} from the manifest, or wait for a release that supports it"
    ),
    "fix": _named("correct the manifest"),
}
