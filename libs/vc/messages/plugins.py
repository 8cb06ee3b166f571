"""Messages between the job-controller and the job plugins: one request and one reply per job.

A plugin replies with a `JobDecoration`: what to add to the pods of each task, with a symbol for the
pod's index, so that one reply serves a thousand pods. A reply is matched by job uid, hash of the
spec and plugin; a reply to an older spec is dropped.
"""

import hashlib
from typing import Final

import msgspec

from vc.messages.codec import encode, wire_headers
from vc.messages.partition import partition_of_key
from vc.messages.record import Message
from vc.messages.topics import PLUGIN_REGISTRY, PLUGIN_REPLIES, plugin_requests
from vc.model.api.job import Job, JobSpec
from vc.model.api.struct import JsonObject

APPLY: Final = "apply"
REMOVE: Final = "remove"

_SPEC_HASH_HEX_DIGITS: Final = 16


INDEX_SYMBOL: Final = "<index>"
"""Stands for the pod's index in a text that is otherwise equal for all pods of a task."""


class EnvVar(msgspec.Struct, frozen=True, kw_only=True):
    """A variable: a text, a reference, the pod's index plus a number, or a text with the index."""

    name: str
    value: str = ""
    value_from: JsonObject | None = None
    index_plus: int | None = None
    """The value is the pod's index within its task plus this number."""
    text_with_index: str = ""
    """The value is this text, with every `INDEX_SYMBOL` replaced by the pod's index."""


class TaskDecoration(msgspec.Struct, frozen=True, kw_only=True):
    """The additions to the pods of one task. Values in the user's template take precedence."""

    env: list[EnvVar] = []
    env_in_init_containers: bool = True
    ports: list[JsonObject] = []
    """Container ports, added to every container that has none of that name."""
    ports_in_init_containers: bool = False
    ports_only_in: str = ""
    """The only container that gets the ports; empty means all."""
    volumes: list[JsonObject] = []
    mounts: list[JsonObject] = []
    """Volume mounts of every container and init container."""
    init_containers: list[JsonObject] = []
    """Inserted before the user's init containers."""
    commands: dict[str, list[str]] = {}
    """Commands by container name; each replaces the container's own."""
    annotations: dict[str, str] = {}
    hostname_from_pod: bool = False
    """Whether the pod's hostname is set to its name."""
    subdomain: str = ""
    fs_group: int | None = None
    """The group that owns the files of volumes."""


class JobDecoration(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin's reply: the additions to pods, by task name.

    Additions that are equal for all tasks are in `shared` once. A thousand tasks with variables
    about every other task would otherwise be a million variables.
    """

    tasks: dict[str, TaskDecoration] = {}
    shared: TaskDecoration | None = None
    """Additions to the pods of every task, after those in `tasks`. Used only in a reply to a
    request with `takes_shared`.
    """


class PluginRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to decorate a job, or to remove what was created for it."""

    verb: str
    plugin: str
    arguments: list[str]
    job: Job
    spec_hash: str
    takes_shared: bool = False
    """The sender understands `JobDecoration.shared`.
    An older release does not set this and gets a reply per task.
    """


class PluginReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply. A `problem` must be fixed by the user and is shown on the job."""

    verb: str
    plugin: str
    job_key: str
    job_uid: str
    spec_hash: str
    decoration: JobDecoration | None = None
    problem: str = ""
    warnings: list[str] = []
    """Hints for the job's author; they do not block the job."""


class PluginArgument(msgspec.Struct, frozen=True, kw_only=True):
    """A flag of a plugin, for validation and help."""

    name: str
    default: str = ""
    meaning: str = ""


class PluginAnnouncement(msgspec.Struct, frozen=True, kw_only=True):
    """The announcement of a plugin on the registry."""

    plugin: str
    version: str
    arguments: list[PluginArgument] = []
    forces: list[str] = []
    """Plugins that are enabled together with this one."""
    makes_nothing: bool = False
    """The plugin only decorates pods, so no remove request is needed when a job ends."""


def spec_hash(spec: JobSpec) -> str:
    """Hash of everything a plugin may read."""
    # A reply is matched by the job's uid as well, so the hash only separates specs of one job.
    return hashlib.sha256(encode(spec)).hexdigest()[:_SPEC_HASH_HEX_DIGITS]


def request_message(request: PluginRequest, *, traceparent: str = "") -> Message:
    """The message on the plugin's own topic, in the job's partition."""
    # The job's partition keeps requests and replies of a job in order.
    key = request.job.key
    return Message(
        topic=plugin_requests(request.plugin).name,
        partition=partition_of_key(key),
        key=key,
        value=encode(request),
        headers=wire_headers(traceparent),
    )


def reply_message(reply: PluginReply, *, traceparent: str = "") -> Message:
    """The message to the job-controller, in the job's partition."""
    return Message(
        topic=PLUGIN_REPLIES.name,
        partition=partition_of_key(reply.job_key),
        key=reply.job_key,
        value=encode(reply),
        headers=wire_headers(traceparent),
    )


def announcement_message(announcement: PluginAnnouncement) -> Message:
    """The message on the compacted registry, keyed by the plugin's name."""
    return Message(
        topic=PLUGIN_REGISTRY.name,
        partition=0,
        key=announcement.plugin,
        value=encode(announcement),
        headers=wire_headers(),
    )
