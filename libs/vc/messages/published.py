"""The projection: which parts of an object are published on the bus.

Facts are read by every service, stored in topics and checkpoints, and shown by the dashboard, so
they must not contain secrets. The watcher publishes only what a service decides on:

- annotations of Volcano and of this project, and the few of Kubernetes that are read. Of a job's
  other annotations only the keys are published (`HIDDEN`), because its PodGroup gets them: the
  service that creates the PodGroup reads the job itself.
- of a job, outlines of its templates (`vc.model.api.outline`), no claim specs, and plugin arguments
  without private keys.

Other kinds are decoded into structs without fields for free text. The projection is idempotent.
"""

from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from vc.messages.redaction import redact
from vc.model.api import keys
from vc.model.api.job import Job, JobSpec, TaskSpec, VolumeSpec
from vc.model.api.meta import ApiObject
from vc.model.api.outline import outline, shown_template
from vc.model.api.struct import JsonObject

PROJECTION: Final = "2"
"""Version of the projection; records with another version are published again.
Version 1 was the whole object.
"""

HIDDEN: Final = "<hidden>"
"""Replaces the value of a job's annotation on which no service decides."""

_DOMAINS: Final = ("volcano.sh", "pyroclast.io")
_OTHERS: Final = frozenset(
    {
        keys.GROUP_NAME,
        keys.SELECTED_NODE,
        keys.BOUND_BY_CONTROLLER,
        keys.SLA_WAITING_TIME_LEGACY,
    }
)
_KEYS_REMEMBERED_MAX: Final = 4096

T = TypeVar("T", bound=ApiObject)


@lru_cache(maxsize=_KEYS_REMEMBERED_MAX)
def annotation_travels(key: str) -> bool:
    """Whether annotations with that key are published."""
    domain = key.partition("/")[0]
    # Whole labels of the domain are compared: a foreign domain that merely ends with the same
    # characters must not be published.
    return key in _OTHERS or any(domain == d or domain.endswith(f".{d}") for d in _DOMAINS)


def published(obj: T) -> T:
    """The projection of an object."""
    is_job = isinstance(obj, Job)
    annotations = obj.metadata.annotations
    # Most objects have only known annotations and need no copy.
    if not all(map(annotation_travels, annotations)):
        kept = {
            key: value if annotation_travels(key) else HIDDEN
            for key, value in annotations.items()
            # kubectl's copy of the manifest may contain every secret of the template.
            if annotation_travels(key) or (is_job and key != keys.LAST_APPLIED)
        }
        metadata = msgspec.structs.replace(obj.metadata, annotations=kept)
        obj = msgspec.structs.replace(obj, metadata=metadata)
    if isinstance(obj, Job):
        return msgspec.structs.replace(obj, spec=published_spec(obj.spec))
    return obj


def published_spec(spec: JobSpec) -> JobSpec:
    """The projection of a job's spec."""
    return msgspec.structs.replace(
        spec,
        plugins={name: redact(given, plugin=name) for name, given in spec.plugins.items()},
        tasks=[_task(task) for task in spec.tasks],
        volumes=[_volume(volume) for volume in spec.volumes],
    )


def hides_annotations(job: Job) -> bool:
    """Whether the job has annotations whose values must be read from the API server."""
    return HIDDEN in job.metadata.annotations.values()


def in_plain_form(spec: JobSpec) -> JobSpec:
    """The spec with outlines in the form of pod templates, for readers."""
    tasks = [
        msgspec.structs.replace(task, template=shown_template(task.template)) for task in spec.tasks
    ]
    return msgspec.structs.replace(spec, tasks=tasks)


def _task(task: TaskSpec) -> TaskSpec:
    # The input may already be an outline: the projection must be idempotent.
    template = shown_template(task.template)
    metadata = template.get("metadata")
    given = metadata.get("annotations") if isinstance(metadata, dict) else None
    annotations: JsonObject = {
        key: value
        for key, value in (given.items() if isinstance(given, dict) else ())
        if isinstance(value, str) and annotation_travels(key)
    }
    return msgspec.structs.replace(task, template=outline(template, annotations=annotations))


def _volume(volume: VolumeSpec) -> VolumeSpec:
    """A claim's existence is published, because it matters for decisions; its spec is not."""
    return msgspec.structs.replace(volume, volume_claim={}) if volume.volume_claim else volume
