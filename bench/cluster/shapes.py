"""What is submitted: so many jobs of so many pods, and the manifest of one."""

import re
from typing import Final, Self

import msgspec

from vc.model.api.kinds import JOBS
from vc.model.api.struct import JsonObject

DEFAULT_SHAPES: Final = "1x1000,100x50,2000x1,20x250"
_SHAPE: Final = re.compile(r"(\d{1,6})[x×](\d{1,6})", re.ASCII)
_RUN_SECONDS: Final = "86400"
"""Longer than any measurement: pods run until they are deleted."""


class Shape(msgspec.Struct, frozen=True):
    """Jobs and the pods of each, all of one job a gang."""

    jobs: int
    pods: int

    @property
    def total(self) -> int:
        return self.jobs * self.pods

    def __str__(self) -> str:
        return f"{self.jobs}x{self.pods}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `100x50`; ValueError says what a shape looks like."""
        found = _SHAPE.fullmatch(text.strip())
        jobs, pods = (int(number) for number in found.groups()) if found else (0, 0)
        if not jobs * pods:
            raise ValueError(f"shape {text!r}: write jobs x pods of each, such as 100x50")
        return cls(jobs, pods)


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What all pods of a run have in common."""

    queue: str = "default"
    scheduler_name: str = "volcano"
    image: str = "busybox:1.36"
    cpu: str = "100m"
    memory: str = "64Mi"
    plugins: list[str] = []
    node_selector: dict[str, str] = {}
    tolerates_all: bool = False


def parse_shapes(text: str) -> list[Shape]:
    """Of a list with commas; each shape once, in the order given."""
    return list(dict.fromkeys(Shape.parse(each) for each in text.split(",") if each.strip()))


def jobs_prefix(shape: Shape) -> str:
    """How the names of all its jobs begin."""
    return f"bench-{shape}-"


def job_name(shape: Shape, number: int) -> str:
    return f"{jobs_prefix(shape)}{number}"


def manifest(shape: Shape, number: int, template: PodTemplate) -> JsonObject:
    """One job: a gang that starts whole and runs until it is deleted."""
    container = {
        "name": "main",
        "image": template.image,
        "command": ["sleep", _RUN_SECONDS],
        "resources": {"requests": {"cpu": template.cpu, "memory": template.memory}},
    }
    spec: JsonObject = {"restartPolicy": "Never", "containers": [container]}
    if template.node_selector:
        spec["nodeSelector"] = template.node_selector
    if template.tolerates_all:
        spec["tolerations"] = [{"operator": "Exists"}]
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": job_name(shape, number)},
        "spec": {
            "schedulerName": template.scheduler_name,
            "queue": template.queue,
            "minAvailable": shape.pods,
            "plugins": {name: [] for name in template.plugins},
            "tasks": [{"name": "worker", "replicas": shape.pods, "template": {"spec": spec}}],
        },
    }
