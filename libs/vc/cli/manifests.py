"""Reading of manifests: YAML files whose errors name the file, the document and the fix."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from vc.model.api.struct import JsonObject
from vc.model.values import bounded_yaml

MANIFEST_BYTES_MAX: Final = 3 * 1024 * 1024


class ManifestError(ValueError):
    """An unusable manifest. The message says where and why."""


def read_manifests(paths: Iterable[Path]) -> list[JsonObject]:
    """All documents of all files, in order. A folder stands for its `*.yaml` files by name."""
    documents: list[JsonObject] = []
    for path in paths:
        # Sorted, so that objects are created in the same order on every machine.
        files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if not files:
            raise ManifestError(f"{path}: no *.yaml files in this folder")
        for file in files:
            documents += _documents(file)
    return documents


def _documents(file: Path) -> Iterator[JsonObject]:
    try:
        # The size is checked before the file is read, so that a huge file cannot fill the memory.
        if file.stat().st_size > MANIFEST_BYTES_MAX:
            raise ManifestError(f"{file}: larger than {MANIFEST_BYTES_MAX} bytes")
        text = file.read_text(encoding="utf-8")
        for number, document in enumerate(bounded_yaml.load_all(text), 1):
            if document is not None:
                yield _checked(document, f"{file}, document {number}")
    except OSError as error:
        raise ManifestError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ManifestError(f"{file}: not UTF-8 text") from None
    except bounded_yaml.YamlError as error:
        raise ManifestError(f"{file}: not YAML: {' '.join(str(error).split())}") from None


def _checked(document: object, where: str) -> JsonObject:
    if not isinstance(document, dict):
        raise ManifestError(f"{where}: expected an object, found {type(document).__name__}")
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str):
            raise ManifestError(f"{where}: {field} is missing; every manifest names it")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise ManifestError(f"{where}: metadata.name is missing; give the object a name")
    return document
