"""What of an object travels on the bus.

Facts are read by every service, kept in topics and in checkpoints, and shown by the dashboard: all of them
are places where a secret must not be. So the watcher publishes what somebody decides on, and no more:

- annotations of Volcano and of this project, and the few of Kubernetes that are read. A job's others are
  named but not told (`HIDDEN`), since its pod group gets them: whoever makes it reads the job.
- of a job, outlines of its templates (`vc_model.outline`), no claim specs, and plugin arguments without
  private keys.

Other kinds are decoded into structs that have no field for free text. Applied twice it changes nothing.
"""

from functools import lru_cache
from typing import Final, TypeVar

import msgspec

from vc_messages.redaction import redact
from vc_model import keys
from vc_model.job import Job, JobSpec, TaskSpec, VolumeSpec
from vc_model.meta import ApiObject
from vc_model.outline import outline, shown_template
from vc_model.struct import JsonObject

PROJECTION: Final = "2"
"""Of what is kept by `published`; a topic's records of another one are written again. 1 was all."""

HIDDEN: Final = "<hidden>"
"""In place of a job's annotation that is nobody's to decide on."""

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
    """Whether somebody may decide on an annotation of that key."""
    domain = key.partition("/")[0]
    return key in _OTHERS or any(domain == d or domain.endswith(f".{d}") for d in _DOMAINS)


def published(obj: T) -> T:
    """The object as it travels."""
    is_job = isinstance(obj, Job)
    annotations = obj.metadata.annotations
    if not all(map(annotation_travels, annotations)):
        kept = {
            key: value if annotation_travels(key) else HIDDEN
            for key, value in annotations.items()
            if annotation_travels(key) or (is_job and key != keys.LAST_APPLIED)
        }
        metadata = msgspec.structs.replace(obj.metadata, annotations=kept)
        obj = msgspec.structs.replace(obj, metadata=metadata)
    if isinstance(obj, Job):
        return msgspec.structs.replace(obj, spec=published_spec(obj.spec))
    return obj


def published_spec(spec: JobSpec) -> JobSpec:
    """A job's spec as it travels."""
    return msgspec.structs.replace(
        spec,
        plugins={name: redact(given, plugin=name) for name, given in spec.plugins.items()},
        tasks=[_task(task) for task in spec.tasks],
        volumes=[_volume(volume) for volume in spec.volumes],
    )


def hides_annotations(job: Job) -> bool:
    """Whether the job has annotations that only the API server can tell."""
    return HIDDEN in job.metadata.annotations.values()


def in_plain_form(spec: JobSpec) -> JobSpec:
    """Outlines in the form of templates, for those who only read them."""
    tasks = [
        msgspec.structs.replace(task, template=shown_template(task.template)) for task in spec.tasks
    ]
    return msgspec.structs.replace(spec, tasks=tasks)


def _task(task: TaskSpec) -> TaskSpec:
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
    """That the job brings a claim decides; what is in it does not."""
    return msgspec.structs.replace(volume, volume_claim={}) if volume.volume_claim else volume
