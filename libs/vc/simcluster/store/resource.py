"""The description of one API resource, as served by discovery."""

from typing import Final

import msgspec

from vc.model.api.struct import JsonObject

EVENTS_GROUP: Final = "events.k8s.io"
CRD_GROUP: Final = "apiextensions.k8s.io"


class PrinterColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column of `kubectl get`."""

    name: str
    type: str
    json_path: str
    description: str = ""
    priority: int = 0
    """A column with a priority above 0 is shown only with `-o wide`."""
    format: str = ""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One resource in one version, as the API serves it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    columns: tuple[PrinterColumn, ...] = ()
    """Printer columns of a CRD. The columns of built-in kinds are computed in `printing`."""
    schema: JsonObject | None = None
    """The openAPIV3Schema of this version of a CRD. None for built-in kinds."""
    custom: bool = False
    """Whether a CRD defines the resource, with or without a schema."""
    storage_version: str = ""
    """The version in which objects are stored. It differs from `version` only for CRDs with
    several.
    """

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> tuple[str, str]:
        """Key of the table that stores the objects.

        All versions of a resource share one table, and so do both events APIs.
        """
        return ("", self.plural) if self.group == EVENTS_GROUP else (self.group, self.plural)

    @property
    def qualified(self) -> str:
        """The resource name used in messages: `pods`, `jobs.batch.volcano.sh`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """The kind used in messages: `Pod`, `Job.batch.volcano.sh`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources
