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


def summary_of(seen: ObservedJob, outcomes: Sequence[Outcome]) -> str:
    """Fields like `phase=Pending->Running pods_created=4 plugins_requested=env,svc`.

    Empty if only counters were written: a large job would fill the log with them.
    """
    done = [outcome.effect for outcome in outcomes if outcome.status is OutcomeStatus.DONE]
    fields: list[str] = []
    before = seen.job.status.state.phase
    for effect in done:
        if isinstance(effect, PatchObject) and effect.kind is JOBS:
            phase = phase_in(effect)
            if phase and phase != before:
                fields.append(f"phase={before or _NEW}->{phase}")
                before = phase
    created = Counter(effect.kind.short for effect in done if isinstance(effect, CreateObject))
    deleted = Counter(effect.kind.short for effect in done if isinstance(effect, DeleteObject))
    fields += [f"{kind}_created={count}" for kind, count in sorted(created.items())]
    fields += [f"{kind}_deleted={count}" for kind, count in sorted(deleted.items())]
    topics = sorted(effect.message.topic for effect in done if isinstance(effect, PublishMessage))
    if topics:
        plugins = [topic.removeprefix("plugin.").removesuffix(".requests") for topic in topics]
        fields.append(f"plugins_requested={','.join(plugins)}")
    return " ".join(fields)


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
