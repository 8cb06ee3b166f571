"""Resource groups: pods of some namespaces or annotations are steered to some nodes.

Configured in the admission ConfigMap as upstream does (`volcano-admission.conf`, key
`resourceGroups`). The first group that matches a pod applies. A file that cannot be read is a
`ResourceGroupsError` with the reason; the shell then keeps the old groups and says so.
"""

from typing import Final

import msgspec

from vc_model import bounded_yaml
from vc_model.faults import describe
from vc_model.struct import ApiStruct, Json, JsonObject

GROUPS_MAX: Final = 200
CONFIGURATION_CHARACTERS_MAX: Final = 256 * 1024


class ResourceGroupsError(ValueError):
    """A configuration that cannot be used; says why."""


class GroupObject(ApiStruct, frozen=True, kw_only=True):
    """What a group matches."""

    key: str = ""
    """`namespace`, `annotation`, or empty for annotations and the resource-group annotation."""
    value: list[str] = []


class ResourceGroup(ApiStruct, frozen=True, kw_only=True):
    """What matching pods get."""

    resource_group: str = ""
    object: GroupObject = GroupObject()
    scheduler_name: str = ""
    labels: dict[str, str] = {}
    """Merged into the pod's node selector."""
    tolerations: list[JsonObject] = []
    affinity: str = ""
    """JSON, set when the pod has none."""

    def affinity_object(self) -> JsonObject | None:
        """The affinity to set, if the group has one."""
        if not self.affinity.strip():
            return None
        parsed: JsonObject = msgspec.json.decode(self.affinity, type=dict[str, Json])
        return parsed


class _Configuration(ApiStruct, frozen=True, kw_only=True):
    resource_groups: list[ResourceGroup] = []


def parse_resource_groups(text: str) -> tuple[ResourceGroup, ...]:
    """The groups of a configuration text."""
    if len(text) > CONFIGURATION_CHARACTERS_MAX:
        raise ResourceGroupsError(f"larger than {CONFIGURATION_CHARACTERS_MAX} characters")
    try:
        loaded = bounded_yaml.load(text) or {}
        groups = msgspec.convert(loaded, _Configuration).resource_groups
        for group in groups:
            group.affinity_object()
    except Exception as error:  # noqa: BLE001 - YAML has keys and values of every sort
        raise ResourceGroupsError(describe(error)) from None
    if len(groups) > GROUPS_MAX:
        raise ResourceGroupsError(f"{len(groups)} groups; at most {GROUPS_MAX} are read")
    return tuple(groups)
