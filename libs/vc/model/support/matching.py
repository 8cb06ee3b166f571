"""Predicates for the values that a case of the table accepts."""

from vc.model.api.struct import Json
from vc.model.support.answers import FieldValue, Match
from vc.model.values.times import DurationError, parse_duration


def is_unset(place: FieldValue) -> bool:
    """The value is absent or empty."""
    return not place.value


def one_of(*values: str) -> Match:
    """The value is exactly one of these texts."""

    def match(place: FieldValue) -> bool:
        return place.value in values

    return match


def in_template(place: FieldValue) -> bool:
    """Whether a label or annotation is in a pod template of a job, not on a pod."""
    return place.root is not None


def names_job_updated(place: FieldValue) -> bool:
    """The event JobUpdated, which is never emitted, or a list that contains it."""
    value = place.value
    return value == "JobUpdated" or (isinstance(value, list) and "JobUpdated" in value)


def is_duration(place: FieldValue) -> bool:
    """A duration in Go's syntax."""
    try:
        return isinstance(place.value, str) and parse_duration(place.value) >= 0
    except DurationError:
        return False


def is_soft(place: FieldValue) -> bool:
    """A network topology with mode soft; the default mode is hard."""
    return isinstance(place.value, dict) and place.value.get("mode") == "soft"


def is_partition_gang(place: FieldValue) -> bool:
    """Whether whole partitions are needed that the gang of the job does not ensure.

    If every replica belongs to the gang, all partitions start completely or not at all. The minimum
    of a task counts only if the job's minAvailable covers the minimums of all tasks.
    """
    policy, task = place.value, place.parent
    if not isinstance(policy, dict) or not isinstance(task, dict):
        return False
    if not number(policy.get("minPartitions")):
        return False
    # With all partitions required, the gang alone starts them completely.
    every_replica = number(policy.get("minPartitions")) >= number(policy.get("totalPartitions"))
    spec = _job_spec(place.root)
    minimums = sum(task_minimum(other) for other in spec.get("tasks") or [])
    written = number(spec.get("minAvailable"))
    return not (every_replica and (not written or written >= minimums))


def is_sub_gang(place: FieldValue) -> bool:
    """Whether a number of whole sub-groups is needed."""
    return isinstance(place.value, dict) and number(place.value.get("minSubGroups")) > 0


def task_minimum(task: Json) -> int:
    """How many pods of a task belong to the gang."""
    if not isinstance(task, dict):
        return 0
    written = task.get("minAvailable")
    # An explicit minimum of the task overrides what follows from its partitions.
    if written is not None:
        return number(written)
    policy = task.get("partitionPolicy")
    if isinstance(policy, dict) and number(policy.get("minPartitions")):
        return number(policy.get("minPartitions")) * number(policy.get("partitionSize"))
    return number(task.get("replicas"))


def number(value: Json) -> int:
    """The integer; 0 for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _job_spec(root: Json) -> Json:
    spec = root.get("spec") if isinstance(root, dict) else None
    return spec if isinstance(spec, dict) else {}
