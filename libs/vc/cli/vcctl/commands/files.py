"""Manifests for vcctl. The reader of `pyroclast` is imported only if a file is named."""

from collections.abc import Iterable
from pathlib import Path

from vc.cli.vcctl.api.errors import UsageError
from vc.cli.vcctl.api.resources import JsonObject


def read_documents(paths: Iterable[Path]) -> list[JsonObject]:
    """All documents of the files. An unusable file is a usage error."""
    from vc.cli.manifests import ManifestError, read_manifests

    try:
        return read_manifests(paths)
    except ManifestError as error:
        raise UsageError(str(error)) from None
