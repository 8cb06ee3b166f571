"""The API paths of the resources that vcctl uses.

`vc.model.api.kinds` has the same data, but importing it takes longer than vcctl's whole start. A
test keeps both consistent.
"""

from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote

JsonObject: TypeAlias = dict[str, Any]


def path_segment(text: str) -> str:
    """One escaped path segment, for any input of a user."""
    return quote(text, safe="")


class Resource(NamedTuple):
    """A resource of the API."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of the collection or one object. An empty namespace means all namespaces."""
        prefix = "apis" if "/" in self.api_version else "api"
        scope = f"/namespaces/{path_segment(namespace)}" if namespace and self.namespaced else ""
        return f"/{prefix}/{self.api_version}{scope}/{self.plural}" + (
            f"/{path_segment(name)}" if name else ""
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
    """The metadata of an object, or an empty dict."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def spec(obj: JsonObject) -> JsonObject:
    """The spec of an object, or an empty dict."""
    found = obj.get("spec")
    return found if isinstance(found, dict) else {}


def status(obj: JsonObject) -> JsonObject:
    """The status of an object, or an empty dict."""
    found = obj.get("status")
    return found if isinstance(found, dict) else {}
