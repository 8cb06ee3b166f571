"""Lifecycle policies: which event leads to which action.

The same rules apply to the list of a job and to that of each task. An event may appear once in a
list, `*` must be the only event of its list, and a policy has either events or an exit code.
"""

from typing import Final

from vc.model.api.job import LifecyclePolicy
from vc.model.compat import Compat
from vc.validation.result import ValidationResult

ANY_EVENT: Final = "*"
EVENTS: Final = (
    "*", "JobUpdated", "PodEvicted", "PodFailed", "PodPending", "TaskCompleted", "TaskFailed",
    "Unknown",
)  # fmt: skip
INTERNAL_EVENTS: Final = ("CommandIssued", "OutOfSync", "PodRunning")
EVENT_ALIASES: Final = {"JobUnknown": "Unknown"}
"""Other names of Volcano's events, accepted in `lenient` mode (docs/compatibility.md)."""

ACTIONS: Final = (
    "AbortJob", "CompleteJob", "RestartJob", "RestartPartition", "RestartPod", "RestartTask",
    "ResumeJob", "TerminateJob",
)  # fmt: skip
_ONE_OF_ACTIONS: Final = f"use one of {', '.join(ACTIONS)}"


def events_of(policy: LifecyclePolicy, *, compat: Compat = Compat.LENIENT) -> list[str]:
    """The events of a policy in upstream's names, each once, in the order written."""
    written = [policy.event] if policy.event else []
    written += policy.events
    aliases = EVENT_ALIASES if compat is Compat.LENIENT else {}
    return list(dict.fromkeys(aliases.get(event, event) for event in written))


def check_policies(
    found: ValidationResult, path: str, policies: list[LifecyclePolicy], *, compat: Compat
) -> None:
    """Check one list of policies."""
    events: dict[str, str] = {}
    exit_codes: dict[int, str] = {}
    for index, policy in enumerate(policies):
        place = f"{path}[{index}]"
        named = events_of(policy, compat=compat)
        # The two ways to match cannot be combined in one policy, as in upstream.
        if named and policy.exit_code is not None:
            found.refuse(
                place,
                "has both an event and an exitCode; split it into two policies",
                upstream="must not specify event and exitCode simultaneously",
            )
        elif policy.exit_code is not None:
            _check_exit_code(found, place, policy.exit_code, seen=exit_codes)
            # Volcano checks the action of an event only and then ignores an unknown one.
            if compat is Compat.LENIENT:
                _check_action(found, place, policy.action)
            elif policy.action not in ACTIONS:
                found.warn(f"{place}.action", f"is no action and has no effect; {_ONE_OF_ACTIONS}")
        elif named:
            _check_events(found, place, named, seen=events)
            _check_action(found, place, policy.action)
        else:
            found.refuse(
                place,
                "needs an event, events or an exitCode; add one of them",
                upstream="either event and exitCode should be specified",
            )
    # '*' is compared across all policies of the list, not within one policy.
    if ANY_EVENT in events and len(events) > 1:
        others = ", ".join(sorted(event for event in events if event != ANY_EVENT))
        found.refuse(
            path,
            f"'*' covers every event, so it must be alone; remove {others} or '*'",
            upstream="if there's * here, no other policy should be here",
        )


def _check_exit_code(
    found: ValidationResult, path: str, code: int, *, seen: dict[int, str]
) -> None:
    if code == 0:
        found.refuse(
            f"{path}.exitCode",
            "0 is success and not a failure to act on; name another",
            value=code,
            upstream="0 is not a valid error code",
        )
    elif code in seen:
        found.refuse(
            f"{path}.exitCode",
            f"is already used by {seen[code]}; keep one of them",
            value=code,
            upstream=f"duplicate exitCode {code}",
        )
    # The first use is kept, so that a second duplicate is reported against it.
    seen.setdefault(code, path)


def _check_events(
    found: ValidationResult, path: str, named: list[str], *, seen: dict[str, str]
) -> None:
    for event in named:
        if event in INTERNAL_EVENTS:
            found.refuse(
                f"{path}.event",
                f"is internal; use one of {', '.join(EVENTS)}",
                value=event,
                upstream="invalid policy event",
            )
        elif event not in EVENTS:
            found.refuse(
                f"{path}.event",
                f"is no event; use one of {', '.join(EVENTS)}",
                value=event,
                upstream="invalid policy event",
            )
        elif event in seen:
            found.refuse(
                f"{path}.event",
                f"is already used by {seen[event]}; an event may lead to one action only",
                value=event,
                upstream=f"duplicate event {event}",
            )
        seen.setdefault(event, path)


def _check_action(found: ValidationResult, path: str, action: str) -> None:
    if action not in ACTIONS:
        found.refuse(
            f"{path}.action",
            f"is no action; {_ONE_OF_ACTIONS}",
            value=action,
            upstream="invalid policy action",
        )
