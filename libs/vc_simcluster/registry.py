"""What the API serves: the built-in resources and those that CustomResourceDefinitions add.

A `Resource` is one row of discovery. Two rows may share one storage: `events` is served by the core
group and by `events.k8s.io`, and a CRD may serve several versions. The registry is data only; that
a CRD object exists in the store as well is the API's concern.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import yaml

from vc_cluster.errors import NotFoundError
from vc_model.kinds import Kind
from vc_model.struct import JsonObject

EVENTS_GROUP: Final = "events.k8s.io"
CRD_GROUP: Final = "apiextensions.k8s.io"
_UNKNOWN: Final = "the server could not find the requested resource"


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


class Registry:
    """All resources by group, version and plural."""

    def __init__(self, *, crds: Iterable[JsonObject] = ()) -> None:
        from vc_simcluster.builtin_resources import BUILT_INS  # noqa: PLC0415  it is rows of Resource

        self.crds: dict[str, JsonObject] = {}
        """The definitions as given, by name; every one has rows in the table."""
        self._rows: dict[tuple[str, str, str], Resource] = {
            (row.group, row.version, row.plural): row for row in BUILT_INS
        }
        for crd in crds:
            self.add_crd(crd)

    def lookup(self, group: str, version: str, plural: str) -> Resource:
        """The row, or NotFoundError in the API server's words."""
        row = self._rows.get((group, version, plural))
        if row is None:
            raise NotFoundError(_UNKNOWN)
        return row

    def for_kind(self, kind: Kind) -> Resource:
        """The row of a kind that our services know."""
        return self.lookup(kind.group, kind.version, kind.plural)

    def all(self) -> list[Resource]:
        """Every row, built-ins first, in a stable order."""
        return list(self._rows.values())

    def stored(self) -> list[Resource]:
        """One row per storage: what a walk over all objects visits."""
        seen: dict[tuple[str, str], Resource] = {}
        for row in self._rows.values():
            if row.storage not in seen or row.version == row.storage_version:
                seen.setdefault(row.storage, row)
        return list(seen.values())

    def add_crd(self, crd: JsonObject) -> None:
        """Serve what the definition says; a definition of the same name is replaced."""
        name = crd["metadata"]["name"]
        self.remove_crd(name)
        self.crds[name] = crd
        for row in crd_resources(crd):
            self._rows[row.group, row.version, row.plural] = row

    def remove_crd(self, name: str) -> None:
        """Stop serving it; a name that is not there is fine."""
        crd = self.crds.pop(name, None)
        for row in crd_resources(crd) if crd else ():
            self._rows.pop((row.group, row.version, row.plural), None)


def crd_resources(crd: JsonObject) -> list[Resource]:
    """One row per served version of a CustomResourceDefinition."""
    spec = crd["spec"]
    storage = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
    return [
        _crd_version(spec, version, storage=storage)
        for version in spec["versions"]
        if version.get("served", True)
    ]


def _crd_version(spec: JsonObject, version: JsonObject, *, storage: str) -> Resource:
    names = spec["names"]
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec.get("scope", "Namespaced") == "Namespaced",
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        subresources=frozenset(version.get("subresources") or ()),
        columns=tuple(_column(c) for c in version.get("additionalPrinterColumns", ())),
        schema=(version.get("schema") or {}).get("openAPIV3Schema"),
        custom=True,
        storage_version=storage or version["name"],
    )


def _column(column: JsonObject) -> PrinterColumn:
    return PrinterColumn(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        description=column.get("description", ""),
        priority=column.get("priority", 0),
        format=column.get("format", ""),
    )


def crd_folder() -> Path:
    """Where our own definitions are: beside the code in a wheel, in `deploy/` in a checkout."""
    installed = Path(__file__).parent / "crds"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "deploy" / "crds"


def load_crds(folder: Path | None = None) -> list[JsonObject]:
    """Every CustomResourceDefinition of the folder's YAML files, in the order of file names."""
    found: list[JsonObject] = []
    for path in sorted((folder or crd_folder()).glob("*.yaml")):
        documents = yaml.safe_load_all(path.read_text(encoding="utf-8"))
        found += [d for d in documents if d and d.get("kind") == "CustomResourceDefinition"]
    return found
