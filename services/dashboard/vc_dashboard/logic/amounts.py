"""What pods ask for and nodes have, in exact integers."""

from typing import Final

from vc_model.pod import PodSpec
from vc_model.pod_requests import Amounts, add, pod_requests
from vc_model.pod_requests import read_known as read
from vc_model.quantity import MILLI, format_resources
from vc_model.struct import ResourceList

__all__ = ["ONE_POD", "PODS", "Amounts", "add", "pod_amounts", "read", "shown"]

PODS: Final = "pods"
ONE_POD: Final = 10**MILLI


def pod_amounts(spec: PodSpec) -> Amounts:
    """What a pod asks for, and its place."""
    return {**pod_requests(spec), PODS: ONE_POD}


def shown(amounts: Amounts) -> ResourceList:
    """As people write them."""
    return format_resources(amounts)
