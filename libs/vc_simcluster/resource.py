"""One row of discovery: a resource as the API serves it."""

from typing import Final

import msgspec

from vc_model.struct import JsonObject

EVENTS_GROUP: Final = "events.k8s.io"
CRD_GROUP: Final = "apiextensions.k8s.io"


class PrinterColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column of `kubectl get`."""

    name: str
    type: str
    json_path: str
    description: str = ""
    priority: int = 0
    """Above 0: only with `-o wide`."""
    format: str = ""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource as the API serves it."""

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
    """Of a CRD; the columns of built-ins are computed, not looked up."""
    schema: JsonObject | None = None
    """The openAPIV3Schema of a CRD's version; None for built-ins."""
    custom: bool = False
    """Whether a CRD defines it, with a schema or without."""
    storage_version: str = ""
    """The version objects are kept in; the same as `version` unless a CRD serves several."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> tuple[str, str]:
        """Which table holds the objects: versions share one, and so do both faces of events."""
        return ("", self.plural) if self.group == EVENTS_GROUP else (self.group, self.plural)

    @property
    def qualified(self) -> str:
        """The name in messages: `pods`, `jobs.batch.volcano.sh`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """The kind in messages: `Pod`, `Job.batch.volcano.sh`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources
