"""How the job-controller and the plugin services talk: one question and one answer per job.

A plugin answers with a `JobDecoration`: what to add to the pods of each task, with the pod's index
as a symbol, so that one answer serves a thousand pods. Correlation is job uid + hash of the spec +
plugin; an answer to an older spec is recognised and dropped.
"""

import hashlib
from typing import Final

import msgspec

from vc_messages.codec import encode, wire_headers
from vc_messages.partition import partition_of_key
from vc_messages.record import Message
from vc_messages.topics import PLUGIN_REGISTRY, PLUGIN_REPLIES, plugin_requests
from vc_model.job import Job, JobSpec
from vc_model.struct import JsonObject

APPLY: Final = "apply"
REMOVE: Final = "remove"

_SPEC_HASH_HEX_DIGITS: Final = 16


INDEX_SYMBOL: Final = "<index>"
"""Stands for the pod's index in a text that is otherwise the same for all pods of a task."""


class EnvVar(msgspec.Struct, frozen=True, kw_only=True):
    """A variable: a text, a reference, the pod's index plus a number, or a text with the index."""

    name: str
    value: str = ""
    value_from: JsonObject | None = None
    index_plus: int | None = None
    """The value is the pod's index within its task plus this."""
    text_with_index: str = ""
    """The value is this, with the pod's index for every `INDEX_SYMBOL`."""


class TaskDecoration(msgspec.Struct, frozen=True, kw_only=True):
    """What the pods of one task get. Whatever the user's template says wins."""

    env: list[EnvVar] = []
    env_in_init_containers: bool = True
    ports: list[JsonObject] = []
    """Container ports, added to every container that has none of that name."""
    ports_in_init_containers: bool = False
    ports_only_in: str = ""
    """Name of the one container that gets the ports; empty: all."""
    volumes: list[JsonObject] = []
    mounts: list[JsonObject] = []
    """Volume mounts of every container and init container."""
    init_containers: list[JsonObject] = []
    """Put before the user's own."""
    commands: dict[str, list[str]] = {}
    """Container name to the command that replaces its own."""
    annotations: dict[str, str] = {}
    hostname_from_pod: bool = False
    """hostname = the pod's name."""
    subdomain: str = ""
    fs_group: int | None = None
    """The group that files of volumes belong to."""


class JobDecoration(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin's answer: per task name, what its pods get.

    What is the same for all tasks is said once, in `shared`: variables about each of a thousand tasks,
    repeated for each of them, are a million.
    """

    tasks: dict[str, TaskDecoration] = {}
    shared: TaskDecoration | None = None
    """What the pods of every task get, after what `tasks` says of their own. Only in an answer to a
    question with `takes_shared`."""


class PluginRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Decorate this job, or take away what was made for it."""

    verb: str
    plugin: str
    arguments: list[str]
    job: Job
    spec_hash: str
    takes_shared: bool = False
    """Whoever asks understands `JobDecoration.shared`. A release that does not never says so, and is
    answered task by task."""


class PluginReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. A `problem` is the user's to mend and is shown on the job."""

    verb: str
    plugin: str
    job_key: str
    job_uid: str
    spec_hash: str
    decoration: JobDecoration | None = None
    problem: str = ""
    warnings: list[str] = []
    """What the job's author should know; nothing waits for it."""


class PluginArgument(msgspec.Struct, frozen=True, kw_only=True):
    """A flag a plugin takes, for validation and help."""

    name: str
    default: str = ""
    meaning: str = ""


class PluginAnnouncement(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin says that it is there."""

    plugin: str
    version: str
    arguments: list[PluginArgument] = []
    forces: list[str] = []
    """Plugins that are switched on with this one."""
    makes_nothing: bool = False
    """It only decorates: when a job is over there is nothing to ask it to take away."""


def spec_hash(spec: JobSpec) -> str:
    """Of everything a plugin may look at."""
    return hashlib.sha256(encode(spec)).hexdigest()[:_SPEC_HASH_HEX_DIGITS]


def request_message(request: PluginRequest, *, traceparent: str = "") -> Message:
    """To the plugin's own topic, on the job's partition."""
    key = request.job.key
    return Message(
        topic=plugin_requests(request.plugin).name,
        partition=partition_of_key(key),
        key=key,
        value=encode(request),
        headers=wire_headers(traceparent),
    )


def reply_message(reply: PluginReply, *, traceparent: str = "") -> Message:
    """To the job-controller, on the job's partition."""
    return Message(
        topic=PLUGIN_REPLIES.name,
        partition=partition_of_key(reply.job_key),
        key=reply.job_key,
        value=encode(reply),
        headers=wire_headers(traceparent),
    )


def announcement_message(announcement: PluginAnnouncement) -> Message:
    """On the compacted registry, keyed by the plugin's name."""
    return Message(
        topic=PLUGIN_REGISTRY.name,
        partition=0,
        key=announcement.plugin,
        value=encode(announcement),
        headers=wire_headers(),
    )
