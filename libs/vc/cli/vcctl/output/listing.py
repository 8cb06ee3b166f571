"""The output of all `list` commands: a table, JSON or YAML, once or with `--watch`.

`--watch` prints the table and then a row whenever it has changed. When the server ends a watch, it
is resumed from the last resourceVersion. If that version is gone (410), the list is read again.
Rows that need more than their object load it at most once a second. Changes within that second are
collected, and the latest state of each object is printed.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock, Timer
from time import sleep
from typing import Final, NamedTuple

from vc.cli.tables import Column, TextTable
from vc.cli.vcctl.api.client import PLAIN, Client
from vc.cli.vcctl.api.errors import EXIT_OK, HTTP_GONE, ApiError, CtlError
from vc.cli.vcctl.api.resources import JsonObject, Resource, metadata
from vc.cli.vcctl.output.output import OBJECT_FORMS, print_list, print_object

REFRESH_SECONDS: Final = 1.0
"""Interval between two refreshes of additional data."""
RECONNECT_SECONDS: Final = 1.0
"""Pause between two watches, so that a server that ends each at once is not called in a loop."""
NOTHING_FOUND: Final = "No resources found"
Row = Sequence[str]


class Listing(NamedTuple):
    """What to list, and how to build a row."""

    resource: Resource
    columns: Sequence[Column]
    row: Callable[[JsonObject], Row]
    namespace: str = ""
    query: Mapping[str, str] = {}
    keep: Callable[[JsonObject], bool] = lambda _: True
    accept: str = PLAIN
    refresh: Callable[[], None] | None = None
    """Called before rows are built, for rows that need more than their object."""


def show(client: Client, listing: Listing, *, form: str, watch: bool) -> int:
    """Print the list. With `watch`, continue until Ctrl-C."""
    if listing.refresh is not None and form not in OBJECT_FORMS:
        listing.refresh()
    items, version = _read(client, listing)
    kept = [item for item in items if listing.keep(item)]
    if form in OBJECT_FORMS:
        if watch:
            return _watch_objects(client, listing, form=form, version=version, first=kept)
        print_list(kept, form)
        return EXIT_OK
    if not kept and not watch:
        print(NOTHING_FOUND)
        return EXIT_OK
    # Rows are remembered by key, so that a watch prints only those that changed.
    rows = {_key(item): listing.row(item) for item in kept}
    table = TextTable(listing.columns, list(rows.values()))
    print(table.header(), flush=True)
    for row in rows.values():
        print(table.line(row), flush=True)
    followed = Followed(listing, table=table, rows=rows)
    while watch:
        version = _follow(client, listing, version=version, take=followed.take)
    return EXIT_OK


class Followed:
    """Prints rows that have changed."""

    def __init__(self, listing: Listing, *, table: TextTable, rows: dict[str, Row]) -> None:
        self._listing = listing
        self._table = table
        self._rows = rows
        self._late: dict[str, JsonObject] = {}
        """Objects whose rows wait for the next refresh, at most one entry per object."""
        self._timer: Timer | None = None
        self._fault: Exception | None = None
        """An error in the timer thread. The next object raises it in the main thread."""
        self._lock = Lock()

    def take(self, item: JsonObject) -> None:
        """Process the current state of an object."""
        if self._listing.refresh is None:
            self._print(item)
            return
        # The timer runs in another thread; the lock keeps refresh and rows consistent.
        with self._lock:
            if self._fault is not None:
                raise self._fault
            # A later state replaces an earlier one: only the newest row is of interest.
            self._late[_key(item)] = item
            if self._timer is None:
                self._timer = Timer(REFRESH_SECONDS, self._look)
                self._timer.daemon = True
                self._timer.start()

    def _look(self) -> None:
        """Refresh once, then print all rows that have waited for it."""
        with self._lock:
            self._timer = None
            late, self._late = self._late, {}
            try:
                if self._listing.refresh is not None:
                    self._listing.refresh()
                for item in late.values():
                    self._print(item)
            except (CtlError, OSError) as error:
                self._fault = error

    def _print(self, item: JsonObject) -> None:
        row = self._listing.row(item)
        # Many changes of an object do not change its row.
        if self._rows.get(_key(item)) != row:
            self._rows[_key(item)] = row
            print(self._table.line(row), flush=True)


def _watch_objects(
    client: Client, listing: Listing, *, form: str, version: str, first: list[JsonObject]
) -> int:
    def take(item: JsonObject) -> None:
        print_object(item, form, one_of_many=True)

    for item in first:
        take(item)
    while True:
        version = _follow(client, listing, version=version, take=take)


def _follow(
    client: Client, listing: Listing, *, version: str, take: Callable[[JsonObject], None]
) -> str:
    """Process the objects of one watch. Return the resourceVersion to continue from."""
    try:
        for event in client.watch(
            listing.resource,
            namespace=listing.namespace,
            version=version,
            query=listing.query,
            accept=listing.accept,
        ):
            item = _object_of(event)
            # Bookmarks and filtered objects advance the version, too: a later resume needs fewer
            # events.
            version = str(metadata(item).get("resourceVersion", version))
            if event.get("type") != "BOOKMARK" and listing.keep(item):
                take(item)
        # A server that ends every watch at once must not be called in a busy loop.
        sleep(RECONNECT_SECONDS)
    except ApiError as error:
        # Other errors are not cured by a relist.
        if error.code != HTTP_GONE:
            raise
        # The history was compacted; a relist shows what changed in between.
        items, version = _read(client, listing)
        for item in filter(listing.keep, items):
            take(item)
    return version


def _object_of(event: JsonObject) -> JsonObject:
    """The object of an event. An ERROR event raises the same error as a failed request."""
    item: JsonObject = event.get("object") or {}
    if event.get("type") == "ERROR":
        # The status line was sent long before, so the code inside the event decides.
        raise ApiError(str(item.get("message", "")), code=int(item.get("code", 0)))
    return item


def _read(client: Client, listing: Listing) -> tuple[list[JsonObject], str]:
    return client.list(
        listing.resource,
        namespace=listing.namespace,
        query=listing.query,
        accept=listing.accept,
    )


def _key(item: JsonObject) -> str:
    return f"{metadata(item).get('namespace', '')}/{metadata(item).get('name', '')}"
