"""Turns the view into changes, to rebuild the cluster cache."""

from collections.abc import Container, Iterator

from vc.messages.view import Change, View
from vc.scheduling.cache.cluster_cache import KINDS


def changes_of(view: View, *, without: Container[tuple[str, str]]) -> Iterator[Change]:
    """Yield every object that sessions use, except those in `without` (by kind and key)."""
    for kind in KINDS:
        for key, entry in list(view.entries(kind).items()):
            if (kind.short, key) not in without:
                yield Change(
                    kind=kind, key=key, partition=entry.partition, before=None, after=entry.object
                )
