"""The view as changes, for columns that are filled again."""

from collections.abc import Container, Iterator

from vc_messages.view import Change, View
from vc_scheduler.logic.columns import KINDS


def changes_of(view: View, *, without: Container[tuple[str, str]]) -> Iterator[Change]:
    """Every object that a session looks at, but those (by kind and key)."""
    for kind in KINDS:
        for key, entry in list(view.entries(kind).items()):
            if (kind.short, key) not in without:
                yield Change(
                    kind=kind, key=key, partition=entry.partition, before=None, after=entry.object
                )
