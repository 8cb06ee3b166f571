"""The served resources: built-in ones and those that CustomResourceDefinitions add.

A `Resource` is one row of discovery. Two rows may share one storage: `events` is served by the core
group and by `events.k8s.io`, and a CRD may serve several versions. The registry holds only data.
`Definitions` keeps it consistent with the CRD objects in the store.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from vc.cluster.errors import NotFoundError
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject
from vc.simcluster.schema.builtin_resources import BUILT_INS
from vc.simcluster.store.resource import PrinterColumn, Resource
from vc.simcluster.store.served import is_stored_form

__all__ = ["PrinterColumn", "Registry", "Resource", "crd_folder", "crd_resources", "load_crds"]

_SAFE_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's C loader where available, because the definitions have more than a thousand lines."""

_UNKNOWN: Final = "the server could not find the requested resource"


class Registry:
    """All resources by group, version and plural."""

    def __init__(self, *, crds: Iterable[JsonObject] = ()) -> None:
        self.crds: dict[str, JsonObject] = {}
        """The definitions by name. Every definition has rows in the table."""
        self._rows: dict[tuple[str, str, str], Resource] = {
            (row.group, row.version, row.plural): row for row in BUILT_INS
        }
        for crd in crds:
            self.add_crd(crd)

    def lookup(self, group: str, version: str, plural: str) -> Resource:
        """The row, or NotFoundError with the API server's message."""
        row = self._rows.get((group, version, plural))
        if row is None:
            raise NotFoundError(_UNKNOWN)
        return row

    def for_kind(self, kind: Kind) -> Resource:
        """The row of a kind that the services use."""
        return self.lookup(kind.group, kind.version, kind.plural)

    def all(self) -> list[Resource]:
        """All rows in a stable order, built-in resources first."""
        return list(self._rows.values())

    def stored(self) -> list[Resource]:
        """One row per storage, for walks over all objects."""
        seen: dict[tuple[str, str], Resource] = {}
        for row in self._rows.values():
            if is_stored_form(row):
                seen[row.storage] = row
        return list(seen.values())

    def add_crd(self, crd: JsonObject) -> None:
        """Serve the resources of a definition. A definition of the same name is replaced."""
        name = crd["metadata"]["name"]
        # The old rows are removed first: a version that is no longer served must disappear.
        self.remove_crd(name)
        self.crds[name] = crd
        for row in crd_resources(crd):
            self._rows[row.group, row.version, row.plural] = row

    def remove_crd(self, name: str) -> None:
        """Stop serving a definition. An unknown name is ignored."""
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
        # A CRD without a storage version cannot be created, but one from a file is not validated.
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
    """The folder of our own definitions: inside the package in a wheel, `deploy/` in a checkout."""
    installed = Path(__file__).parents[1] / "crds"
    return installed if installed.is_dir() else Path(__file__).parents[4] / "deploy" / "crds"


def load_crds(folder: Path | None = None) -> list[JsonObject]:
    """All CustomResourceDefinitions in the YAML files of a folder, in order of file names."""
    found: list[JsonObject] = []
    for path in sorted((folder or crd_folder()).glob("*.yaml")):
        documents = yaml.load_all(path.read_text(encoding="utf-8"), Loader=_SAFE_LOADER)
        found += [d for d in documents if d and d.get("kind") == "CustomResourceDefinition"]
    return found
