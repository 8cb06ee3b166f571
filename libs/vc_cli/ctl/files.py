"""Manifests for vcctl: the reader of `pyroclast`, imported only when a file is named."""

from collections.abc import Iterable
from pathlib import Path

from vc_cli.ctl.errors import UsageError
from vc_cli.ctl.resources import JsonObject


def read_documents(paths: Iterable[Path]) -> list[JsonObject]:
    """All documents, lists opened; a file that cannot be used is an error of the command line."""
    from vc_cli.manifests import ManifestError, read_manifests

    try:
        return read_manifests(paths)
    except ManifestError as error:
        raise UsageError(str(error)) from None
