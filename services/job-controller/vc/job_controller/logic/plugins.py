"""Requests to job plugins, and what their replies mean for the job.

Each plugin gets one request per (job uid, hash of the spec), repeated after a while without an
answer. Replies are kept only in memory. After a restart they are requested again, but only if pods
are still to be created or the spec has changed. A plugin that does not answer blocks only its own
jobs, and the status of the job names the plugin.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.job_controller.logic.observation import Observation
from vc.job_controller.logic.observed import Blocker, sooner
from vc.jobs.plugins.forced import with_forced
from vc.messages.plugins import (
    APPLY,
    REMOVE,
    PluginAnnouncement,
    PluginReply,
    PluginRequest,
    TaskDecoration,
)
from vc.messages.published import in_plain_form, published_spec
from vc.messages.redaction import redact
from vc.messages.topics import PLUGINS
from vc.model.api.job import Job, JobStatus
from vc.model.api.meta import ObjectMeta

REPEAT_SECONDS: Final = 5.0
"""When to repeat a request without a reply, or with a problem, whose cause may be fixed now."""

LATE_SECONDS: Final = 2.0
"""Time without a reply after which the status names the plugin."""

WARNINGS_MAX: Final = 8
"""Limit of warnings per reply."""

NOTE_PREFIX: Final = "plugin-"


class CollectedReplies(msgspec.Struct, frozen=True, kw_only=True):
    """The replies of the plugins so far."""

    complete: bool = False
    decorations: list[PluginReply] = []
    """Replies in the order of plugin names."""
    requests: tuple[PluginRequest, ...] = ()
    wake_after_seconds: float | None = None
    blocker: Blocker | None = None
    warnings: tuple[str, ...] = ()
    """Warnings for the author of the job, each with the name of its plugin."""


def wanted_plugins(job: Job, registry: Mapping[str, PluginAnnouncement]) -> dict[str, list[str]]:
    """The plugins of the job and those they force, with arguments, in the order of names."""
    given = job.spec.plugins
    return {name: list(given.get(name, ())) for name in with_forced(given, registry)}


def collect_replies(observation: Observation) -> CollectedReplies:
    """Collect the available replies, and create requests for the missing ones."""
    seen = observation.seen
    wanted = wanted_plugins(observation.job, seen.registry)
    # Built-in plugins are known by name: their announcement may not have been read yet.
    unknown = [name for name in wanted if name not in seen.registry and name not in PLUGINS]
    if unknown:
        known = ", ".join(sorted({*seen.registry, *PLUGINS}))
        text = f"plugin {unknown[0]!r} has not announced itself; known are {known}"
        return CollectedReplies(blocker=Blocker("PluginUnknown", text))
    replies = {name: _current_reply(observation, name, APPLY) for name in wanted}
    refused = {n: f"plugin {n}: {r.problem}" for n, r in replies.items() if r and r.problem}
    # A problem is requested again too: its cause may be fixed without a change of the job.
    if refused:
        requests, wake = _requests_to(observation, sorted(refused), wanted, APPLY)
        problem = Blocker("PluginProblem", "; ".join(refused.values()))
        return CollectedReplies(blocker=problem, requests=requests, wake_after_seconds=wake)
    missing = [name for name, reply in replies.items() if reply is None]
    requests, wake = _requests_to(observation, missing, wanted, APPLY)
    return CollectedReplies(
        complete=not missing,
        decorations=[reply for reply in replies.values() if reply is not None],
        requests=requests,
        wake_after_seconds=wake,
        blocker=_late_plugins(observation, missing),
        warnings=tuple(
            f"plugin {name}: {warning}"
            for name, reply in replies.items()
            if reply is not None
            for warning in reply.warnings[:WARNINGS_MAX]
        ),
    )


def decorations_of(replies: CollectedReplies, task: str) -> list[TaskDecoration]:
    """What each plugin adds to the pods of a task, in the order of plugin names.

    Within a plugin, the decoration of the task comes before the one of all tasks, so that it wins.
    """
    given = [reply.decoration for reply in replies.decorations if reply.decoration]
    found = [
        part for decoration in given for part in (decoration.tasks.get(task), decoration.shared)
    ]
    return [decoration for decoration in found if decoration is not None]


def removal_requests(
    observation: Observation,
) -> tuple[tuple[PluginRequest, ...], float | None, list[str]]:
    """Request that plugins delete their objects; return requests, wake-up,
    and the plugins that are done.

    A plugin that has answered gets a request even if its reply was not noted yet. A plugin
    that creates no objects gets none.
    """
    # Notes survive a restart of the controller, replies in memory do not.
    noted = {
        k.removeprefix(NOTE_PREFIX) for k in observation.notes.others if k.startswith(NOTE_PREFIX)
    }
    noted |= {
        name
        for name in observation.seen.replies
        if _current_reply(observation, name, APPLY) is not None
    }
    done = [
        name
        for name in sorted(noted)
        if _current_reply(observation, name, REMOVE) is not None
        or _makes_nothing(observation, name)
    ]
    left = [name for name in sorted(noted) if name not in done]
    wanted = wanted_plugins(observation.job, observation.seen.registry)
    # A plugin that no longer exists cannot answer, and a request to it would be repeated for ever.
    reachable = [name for name in left if name in observation.seen.registry or name in PLUGINS]
    requests, wake = _requests_to(observation, reachable, wanted, REMOVE)
    return requests, wake, done


def _makes_nothing(observation: Observation, plugin: str) -> bool:
    announced = observation.seen.registry.get(plugin)
    return announced is not None and announced.makes_nothing


def plugin_notes(observation: Observation) -> dict[str, str]:
    """The notes of plugins, as in `status.controlledResources`."""
    return {
        NOTE_PREFIX + name: name
        for name in wanted_plugins(observation.job, observation.seen.registry)
    }


def _current_reply(observation: Observation, plugin: str, verb: str) -> PluginReply | None:
    """The reply to the current request, or None. A reply about an
    older job or spec does not count."""
    reply = observation.seen.replies.get(plugin)
    if reply is None or reply.verb != verb or reply.job_uid != observation.job.metadata.uid:
        return None
    return reply if reply.spec_hash == observation.hash else None


def _requests_to(
    observation: Observation, missing: list[str], wanted: Mapping[str, list[str]], verb: str
) -> tuple[tuple[PluginRequest, ...], float | None]:
    requests: list[PluginRequest] = []
    wake: float | None = None
    for plugin in missing:
        sent = observation.seen.open_requests.get((verb, plugin))
        # The first request and its repetitions are the same message, so a duplicate does no harm.
        if sent is None or sent.last_seconds_ago >= REPEAT_SECONDS:
            requests.append(_request(observation, plugin, wanted.get(plugin, []), verb))
            # After the first request the job wakes earlier, so that the status can name a
            # late plugin.
            wake = sooner(wake, LATE_SECONDS if sent is None else REPEAT_SECONDS)
        else:
            # Wake when the status must name the plugin, or when the request is to be repeated.
            until_late = LATE_SECONDS - sent.first_seconds_ago
            until_repeat = REPEAT_SECONDS - sent.last_seconds_ago
            late_first = 0 < until_late < until_repeat
            wake = sooner(wake, until_late if late_first else until_repeat)
    return tuple(requests), wake


def _request(
    observation: Observation, plugin: str, arguments: list[str], verb: str
) -> PluginRequest:
    """A request with only what a plugin may read: outlines of templates, and no private key."""
    job = observation.job
    # Metadata is reduced too: annotations may contain private values.
    published = msgspec.structs.replace(
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
        job=published,
        spec_hash=observation.hash,
        takes_shared=True,
    )


def _late_plugins(observation: Observation, missing: list[str]) -> Blocker | None:
    late = [
        name
        for name in missing
        if (sent := observation.seen.open_requests.get((APPLY, name))) is not None
        and sent.first_seconds_ago >= LATE_SECONDS
    ]
    if not late:
        return None
    return Blocker("PluginPending", f"no answer yet from plugin {', '.join(late)}")
