"""Table rows of built-in workloads: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job."""

from typing import Final

from vc.model.api.struct import Json, JsonObject
from vc.model.values.ages import age, human_duration
from vc.model.values.times import parse_time
from vc.simcluster.printing.columns import AGE, NAME, Printer, column

_NONE: Final = "<none>"
_CONTAINERS: Final = (column("Containers", wide=True), column("Images", wide=True))
_SELECTOR: Final = column("Selector", wide=True)


def selector_text(selector: JsonObject | None) -> str:
    """A label selector in the syntax of `-l`."""
    selector = selector or {}
    terms = [f"{k}={v}" for k, v in sorted((selector.get("matchLabels") or {}).items())]
    for need in selector.get("matchExpressions") or []:
        values = ",".join(need.get("values") or [])
        match need.get("operator"):
            case "In" | "NotIn":
                terms.append(f"{need['key']} {need['operator'].lower()} ({values})")
            case "Exists":
                terms.append(need["key"])
            case _:
                terms.append(f"!{need['key']}")
    return ",".join(terms) or _NONE


def _containers(spec: JsonObject) -> list[Json]:
    """Names and images of the template's containers."""
    found = spec.get("template", {}).get("spec", {}).get("containers") or []
    return [",".join(c.get(key, "") for c in found) for key in ("name", "image")]


def _ends(obj: JsonObject) -> tuple[str, JsonObject, JsonObject]:
    return obj["metadata"].get("name", ""), obj.get("spec", {}), obj.get("status", {})


def _age(obj: JsonObject, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now=now)


def _deployment(obj: JsonObject, now: float) -> list[Json]:
    name, spec, status = _ends(obj)
    return [
        name,
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(obj, now),
        *_containers(spec),
        selector_text(spec.get("selector")),
    ]


def _replica_set(obj: JsonObject, now: float) -> list[Json]:
    name, spec, status = _ends(obj)
    return [
        name,
        spec.get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(obj, now),
        *_containers(spec),
        selector_text(spec.get("selector")),
    ]


def _stateful_set(obj: JsonObject, now: float) -> list[Json]:
    name, spec, status = _ends(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [name, ready, _age(obj, now), *_containers(spec)]


def _daemon_set(obj: JsonObject, now: float) -> list[Json]:
    name, spec, status = _ends(obj)
    chosen = spec.get("template", {}).get("spec", {}).get("nodeSelector")
    return [
        name,
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        selector_text({"matchLabels": chosen}),
        _age(obj, now),
        *_containers(spec),
        selector_text(spec.get("selector")),
    ]


def _job(obj: JsonObject, now: float) -> list[Json]:
    name, spec, status = _ends(obj)
    wanted = spec.get("completions")
    # A job without completions is a work queue: one success of any pod completes it.
    total = f"{wanted}" if wanted is not None else f"1 of {spec.get('parallelism', 1)}"
    return [
        name,
        _job_status(obj),
        f"{status.get('succeeded', 0)}/{total}",
        _job_duration(status, now),
        _age(obj, now),
        *_containers(spec),
        selector_text(spec.get("selector")),
    ]


def _job_status(obj: JsonObject) -> str:
    true = {
        c.get("type")
        for c in obj.get("status", {}).get("conditions") or []
        if c.get("status") == "True"
    }
    for condition, word in (
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
    ):
        if condition in true:
            return word
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else "Running"


def _job_duration(status: JsonObject, now: float) -> str:
    start = parse_time(status.get("startTime"))
    if start is None:
        return ""
    return human_duration((parse_time(status.get("completionTime")) or now) - start)


def _cron_job(obj: JsonObject, now: float) -> list[Json]:
    name, spec, status = _ends(obj)
    last = status.get("lastScheduleTime")
    return [
        name,
        spec.get("schedule", ""),
        spec.get("timeZone") or _NONE,
        str(spec.get("suspend", False)),
        len(status.get("active") or []),
        age(last, now=now) if last else _NONE,
        _age(obj, now),
        *_containers(spec.get("jobTemplate", {}).get("spec", {})),
        selector_text(spec.get("jobTemplate", {}).get("spec", {}).get("selector")),
    ]


def _count(*names: str) -> tuple[Json, ...]:
    return tuple(column(name, "integer") for name in names)


WORKLOADS: Final[dict[tuple[str, str], Printer]] = {
    ("apps", "deployments"): Printer(
        columns=(
            NAME, column("Ready"), *_count("Up-to-date", "Available"), AGE, *_CONTAINERS, _SELECTOR,
        ),
        cells=_deployment,
    ),
    ("apps", "replicasets"): Printer(
        columns=(NAME, *_count("Desired", "Current", "Ready"), AGE, *_CONTAINERS, _SELECTOR),
        cells=_replica_set,
    ),
    ("apps", "statefulsets"): Printer(
        columns=(NAME, column("Ready"), AGE, *_CONTAINERS), cells=_stateful_set
    ),
    ("apps", "daemonsets"): Printer(
        columns=(
            NAME, *_count("Desired", "Current", "Ready", "Up-to-date", "Available"),
            column("Node Selector"), AGE, *_CONTAINERS, _SELECTOR,
        ),
        cells=_daemon_set,
    ),
    ("batch", "jobs"): Printer(
        columns=(
            NAME, column("Status"), column("Completions"), column("Duration"), AGE, *_CONTAINERS,
            _SELECTOR,
        ),
        cells=_job,
    ),
    ("batch", "cronjobs"): Printer(
        columns=(
            NAME, column("Schedule"), column("Timezone"), column("Suspend", "boolean"),
            column("Active", "integer"), column("Last Schedule"), AGE, *_CONTAINERS, _SELECTOR,
        ),
        cells=_cron_job,
    ),
}  # fmt: skip
