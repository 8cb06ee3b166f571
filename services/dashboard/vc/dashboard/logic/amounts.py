"""Requests of pods and resources of nodes, as exact integers."""

from collections.abc import Mapping
from typing import Final

from vc.model.api.pod import PodSpec
from vc.model.api.struct import ResourceList
from vc.model.pod_requests import pod_requests
from vc.model.pod_requests import read_known as read
from vc.model.values.quantity import MILLI, format_resources
from vc.model.values.resources import Resources

__all__ = ["ONE_POD", "PODS", "Resources", "pod_amounts", "read", "shown"]

PODS: Final = "pods"
ONE_POD: Final = 10**MILLI


def pod_amounts(spec: PodSpec) -> Resources:
    """The requests of a pod, and one pod."""
    return Resources({**pod_requests(spec), PODS: ONE_POD})


def shown(amounts: Mapping[str, int]) -> ResourceList:
    """Amounts as Kubernetes quantities."""
    return format_resources(amounts)
