"""Resource groups: pods of certain namespaces or annotations are placed on certain nodes.

They are configured in the admission ConfigMap as in upstream (`volcano-admission.conf`, key
`resourceGroups`). The first group that matches a pod applies. An invalid file raises a
`ResourceGroupsError` with the reason; the shell then keeps the old groups and logs it.
"""

from typing import Final

import msgspec

from vc.model.api.struct import ApiStruct, Json, JsonObject
from vc.model.faults import describe
from vc.model.values import bounded_yaml

RESOURCE_GROUP_ANNOTATION: Final = "volcano.sh/resource-group"
GROUPS_MAX: Final = 200
CONFIGURATION_CHARACTERS_MAX: Final = 256 * 1024


class ResourceGroupsError(ValueError):
    """A configuration that cannot be used, with the reason."""


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
    """Merged into the node selector of the pod."""
    tolerations: list[JsonObject] = []
    affinity: str = ""
    """JSON, set if the pod has no affinity."""

    def affinity_object(self) -> JsonObject | None:
        """The affinity to set, if the group has one."""
        if not self.affinity.strip():
            return None
        parsed: JsonObject = msgspec.json.decode(self.affinity, type=dict[str, Json])
        return parsed


class _Configuration(ApiStruct, frozen=True, kw_only=True):
    resource_groups: list[ResourceGroup] = []


def parse_resource_groups(text: str) -> tuple[ResourceGroup, ...]:
    """Parse the groups of a configuration text."""
    # Parsing YAML can take far more memory than its text.
    if len(text) > CONFIGURATION_CHARACTERS_MAX:
        raise ResourceGroupsError(f"larger than {CONFIGURATION_CHARACTERS_MAX} characters")
    try:
        loaded = bounded_yaml.load(text) or {}
        groups = msgspec.convert(loaded, _Configuration).resource_groups
        # An invalid affinity must be found here, not when the first pod is created.
        for group in groups:
            group.affinity_object()
    except Exception as error:  # noqa: BLE001 - YAML has keys and values of every sort
        raise ResourceGroupsError(describe(error)) from None
    # Every group adds to the condition that the API server evaluates for each pod.
    if len(groups) > GROUPS_MAX:
        raise ResourceGroupsError(f"{len(groups)} groups; at most {GROUPS_MAX} are read")
    return tuple(groups)
