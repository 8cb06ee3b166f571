"""Asking the plugins, and what their answers mean for the job.

Every plugin is asked once per (job uid, hash of the spec), again after a while without an answer.
Answers are only in memory: after a restart they are asked for again, but only if pods are still to
be made or the spec has changed since. A plugin that does not answer holds up its own jobs and no
others, and the job says which one it is.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc_job_controller.logic.observed import Trouble, sooner
from vc_job_controller.logic.sight import Sight
from vc_messages.plugins import (
    APPLY,
    REMOVE,
    PluginAnnouncement,
    PluginReply,
    PluginRequest,
    TaskDecoration,
)
from vc_messages.published import in_plain_form, published_spec
from vc_messages.redaction import redact
from vc_messages.topics import PLUGINS
from vc_model.job import Job, JobStatus
from vc_model.meta import ObjectMeta

ASK_AGAIN_SECONDS: Final = 5.0
"""Without an answer, or with a problem for an answer: its cause may have been mended."""

PATIENCE_SECONDS: Final = 2.0
"""After so long without an answer the job says whom it waits for."""

WARNINGS_MAX: Final = 8
"""Taken of one answer."""

NOTE_PREFIX: Final = "plugin-"

_FORCED: Final[Mapping[str, tuple[str, ...]]] = {
    "mpi": ("ssh", "svc"),
    "pytorch": ("svc",),
    "ray": ("svc",),
    "tensorflow": ("svc",),
}
"""As admission writes them into the job; announcements add to this."""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugins say, so far."""

    complete: bool = False
    decorations: list[PluginReply] = []
    """In the order of plugin names."""
    questions: tuple[PluginRequest, ...] = ()
    wake_after_seconds: float | None = None
    trouble: Trouble | None = None
    warnings: tuple[str, ...] = ()
    """What plugins say that the job's author should know, with the plugin's name."""


def wanted_plugins(job: Job, registry: Mapping[str, PluginAnnouncement]) -> dict[str, list[str]]:
    """The job's plugins and those they force, with arguments, in the order of names."""
    wanted = {name: list(arguments) for name, arguments in job.spec.plugins.items()}
    queue = sorted(wanted)
    while queue:
        name = queue.pop()
        announced = registry.get(name)
        forced = {*_FORCED.get(name, ()), *(announced.forces if announced else ())}
        for other in sorted(forced - wanted.keys()):
            wanted[other] = []
            queue.append(other)
    return {name: wanted[name] for name in sorted(wanted)}


def consult(sight: Sight) -> Answers:
    """Collect the answers there are, and ask for those that are missing."""
    seen = sight.seen
    wanted = wanted_plugins(sight.job, seen.registry)
    unknown = [name for name in wanted if name not in seen.registry and name not in PLUGINS]
    if unknown:
        known = ", ".join(sorted({*seen.registry, *PLUGINS}))
        said = f"plugin {unknown[0]!r} has not announced itself; known are {known}"
        return Answers(trouble=Trouble("PluginUnknown", said))
    replies = {name: _answer(sight, name, APPLY) for name in wanted}
    refused = {n: f"plugin {n}: {r.problem}" for n, r in replies.items() if r and r.problem}
    if refused:
        questions, wake = _ask(sight, sorted(refused), wanted, APPLY)
        told = Trouble("PluginProblem", "; ".join(refused.values()))
        return Answers(trouble=told, questions=questions, wake_after_seconds=wake)
    missing = [name for name, reply in replies.items() if reply is None]
    questions, wake = _ask(sight, missing, wanted, APPLY)
    return Answers(
        complete=not missing,
        decorations=[reply for reply in replies.values() if reply is not None],
        questions=questions,
        wake_after_seconds=wake,
        trouble=_impatience(sight, missing),
        warnings=tuple(
            f"plugin {name}: {warning}"
            for name, reply in replies.items()
            if reply is not None
            for warning in reply.warnings[:WARNINGS_MAX]
        ),
    )


def decorations_of(answers: Answers, task: str) -> list[TaskDecoration]:
    """What each plugin adds to a task's pods, in the order of plugin names; a plugin's words on the task
    come before those on all tasks, so that they win."""
    said = [reply.decoration for reply in answers.decorations if reply.decoration]
    found = [
        part for decoration in said for part in (decoration.tasks.get(task), decoration.shared)
    ]
    return [decoration for decoration in found if decoration is not None]


def dismiss(sight: Sight) -> tuple[tuple[PluginRequest, ...], float | None, list[str]]:
    """Ask plugins to take away what they made; questions, wake-up, and who has done so.

    A plugin that has answered is asked even if that was not noted yet. Of one that makes nothing there
    is nothing to take away.
    """
    noted = {k.removeprefix(NOTE_PREFIX) for k in sight.notes.others if k.startswith(NOTE_PREFIX)}
    noted |= {name for name in sight.seen.answers if _answer(sight, name, APPLY) is not None}
    done = [
        name
        for name in sorted(noted)
        if _answer(sight, name, REMOVE) is not None or _makes_nothing(sight, name)
    ]
    left = [name for name in sorted(noted) if name not in done]
    wanted = wanted_plugins(sight.job, sight.seen.registry)
    reachable = [name for name in left if name in sight.seen.registry or name in PLUGINS]
    questions, wake = _ask(sight, reachable, wanted, REMOVE)
    return questions, wake, done


def _makes_nothing(sight: Sight, plugin: str) -> bool:
    announced = sight.seen.registry.get(plugin)
    return announced is not None and announced.makes_nothing


def plugin_notes(sight: Sight) -> dict[str, str]:
    """As `status.controlledResources` shows them."""
    return {NOTE_PREFIX + name: name for name in wanted_plugins(sight.job, sight.seen.registry)}


def _answer(sight: Sight, plugin: str, verb: str) -> PluginReply | None:
    """The reply to this very question; one about an older job or spec is none."""
    reply = sight.seen.answers.get(plugin)
    if reply is None or reply.verb != verb or reply.job_uid != sight.job.metadata.uid:
        return None
    return reply if reply.spec_hash == sight.hash else None


def _ask(
    sight: Sight, missing: list[str], wanted: Mapping[str, list[str]], verb: str
) -> tuple[tuple[PluginRequest, ...], float | None]:
    questions: list[PluginRequest] = []
    wake: float | None = None
    for plugin in missing:
        asked = sight.seen.asked.get((verb, plugin))
        if asked is None or asked.last_seconds_ago >= ASK_AGAIN_SECONDS:
            questions.append(_question(sight, plugin, wanted.get(plugin, []), verb))
            wake = sooner(wake, PATIENCE_SECONDS if asked is None else ASK_AGAIN_SECONDS)
        else:
            patience = PATIENCE_SECONDS - asked.first_seconds_ago
            again = ASK_AGAIN_SECONDS - asked.last_seconds_ago
            wake = sooner(wake, patience if 0 < patience < again else again)
    return tuple(questions), wake


def _question(sight: Sight, plugin: str, arguments: list[str], verb: str) -> PluginRequest:
    """Only what a plugin may look at: outlines of templates, and no private key."""
    job = sight.job
    told = msgspec.structs.replace(
        job,
        metadata=ObjectMeta(
            name=job.metadata.name,
            namespace=job.metadata.namespace,
            uid=job.metadata.uid,
            labels=job.metadata.labels,
        ),
        spec=in_plain_form(published_spec(job.spec)),
        status=JobStatus(),
    )
    return PluginRequest(
        verb=verb,
        plugin=plugin,
        arguments=redact(arguments, plugin=plugin),
        job=told,
        spec_hash=sight.hash,
        takes_shared=True,
    )


def _impatience(sight: Sight, missing: list[str]) -> Trouble | None:
    late = [
        name
        for name in missing
        if (asked := sight.seen.asked.get((APPLY, name))) is not None
        and asked.first_seconds_ago >= PATIENCE_SECONDS
    ]
    if not late:
        return None
    return Trouble("PluginPending", f"no answer yet from plugin {', '.join(late)}")
