"""Summary of a decision, for the log (one line, never one per pod) and for the job itself."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from vc.job_controller.logic import Blocker, ObservedJob
from vc.job_controller.logic.redaction import conceal
from vc.job_controller.spans import phase_in
from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject, PublishMessage
from vc.model.api.kinds import JOBS
from vc.runtime.applying.effects import Outcome, OutcomeStatus

_NEW: Final = "new"
_EVENTS: Final = {CreateObject: "FailedCreate", DeleteObject: "FailedDelete"}
"""Reasons of Events about refused writes, as controllers of Kubernetes name them."""


def what_was_done(seen: ObservedJob, outcomes: Sequence[Outcome]) -> str:
    """A line like `Pending → Running; created 4 pods; asked env, svc`, empty
    if only counters were written."""
    done = [outcome.effect for outcome in outcomes if outcome.status is OutcomeStatus.DONE]
    told: list[str] = []
    before = seen.job.status.state.phase
    for effect in done:
        if isinstance(effect, PatchObject) and effect.kind is JOBS:
            phase = phase_in(effect)
            if phase and phase != before:
                told.append(f"{before or _NEW} → {phase}")
                before = phase
    created = Counter(effect.kind.short for effect in done if isinstance(effect, CreateObject))
    deleted = Counter(effect.kind.short for effect in done if isinstance(effect, DeleteObject))
    told += [f"created {count} {kind}" for kind, count in sorted(created.items())]
    told += [f"deleted {count} {kind}" for kind, count in sorted(deleted.items())]
    asked = sorted(effect.message.topic for effect in done if isinstance(effect, PublishMessage))
    if asked:
        plugins = [topic.removeprefix("plugin.").removesuffix(".requests") for topic in asked]
        told.append(f"asked {', '.join(plugins)}")
    return "; ".join(told)


def message_topic(effect: Effect) -> str:
    """Topic of a published message, or empty for other effects."""
    return effect.message.topic if isinstance(effect, PublishMessage) else ""


def concealed(outcome: Outcome) -> Outcome:
    """The outcome without private content of templates in its error."""
    if not outcome.error:
        return outcome
    return msgspec.structs.replace(outcome, error=conceal(outcome.error, outcome.effect))


def blocker_of(outcome: Outcome) -> Blocker | None:
    """The blocker for an effect that could not be applied, or None if a retry may succeed."""
    name = getattr(outcome.effect, "name", "")
    kind = getattr(outcome.effect, "kind", None)
    what = f"{kind.kind} {name!r}" if kind is not None else "a message"
    if outcome.status is OutcomeStatus.FOREIGN:
        return Blocker("NameTaken", outcome.error)
    if outcome.status is OutcomeStatus.REFUSED:
        event = _EVENTS.get(type(outcome.effect), "")
        return Blocker("WriteRefused", f"{what}: {outcome.error}", event)
    return None
