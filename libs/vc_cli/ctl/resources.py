"""Where the API serves what vcctl asks for.

The models in `vc_model.kinds` say the same, but importing them costs more than vcctl's whole start;
a test keeps the two alike.
"""

from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote

JsonObject: TypeAlias = dict[str, Any]


def word(text: str) -> str:
    """One segment of a path, whatever a person typed."""
    return quote(text, safe="")


class Resource(NamedTuple):
    """A collection of the API."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """The collection's or one object's path; an empty namespace means all of them."""
        prefix = "apis" if "/" in self.api_version else "api"
        scope = f"/namespaces/{word(namespace)}" if namespace and self.namespaced else ""
        return f"/{prefix}/{self.api_version}{scope}/{self.plural}" + (
            f"/{word(name)}" if name else ""
        )


JOBS: Final = Resource("batch.volcano.sh/v1alpha1", "Job", "jobs")
COMMANDS: Final = Resource("bus.volcano.sh/v1alpha1", "Command", "commands")
QUEUES: Final = Resource("scheduling.volcano.sh/v1beta1", "Queue", "queues", namespaced=False)
PODGROUPS: Final = Resource("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups")
JOBFLOWS: Final = Resource("flow.volcano.sh/v1alpha1", "JobFlow", "jobflows")
JOBTEMPLATES: Final = Resource("flow.volcano.sh/v1alpha1", "JobTemplate", "jobtemplates")
PODS: Final = Resource("v1", "Pod", "pods")
EVENTS: Final = Resource("v1", "Event", "events")
CONFIGMAPS: Final = Resource("v1", "ConfigMap", "configmaps")
SERVICES: Final = Resource("v1", "Service", "services")

ALL: Final = (
    JOBS, COMMANDS, QUEUES, PODGROUPS, JOBFLOWS, JOBTEMPLATES, PODS, EVENTS, CONFIGMAPS, SERVICES,
)  # fmt: skip

JOB_NAME: Final = "volcano.sh/job-name"
JOB_TYPE: Final = "volcano.sh/job-type"
QUEUE_NAME: Final = "volcano.sh/queue-name"
TASK_SPEC: Final = "volcano.sh/task-spec"
DEFAULT_NAMESPACE: Final = "default"
SYSTEM_NAMESPACE: Final = "volcano-system"
DEFAULT_QUEUE: Final = "default"


def metadata(obj: JsonObject) -> JsonObject:
    """Its metadata; an object without any is still shown."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def spec(obj: JsonObject) -> JsonObject:
    """Its spec, or an empty one."""
    found = obj.get("spec")
    return found if isinstance(found, dict) else {}


def status(obj: JsonObject) -> JsonObject:
    """Its status, or an empty one."""
    found = obj.get("status")
    return found if isinstance(found, dict) else {}
