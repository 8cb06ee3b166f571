"""A list as every `list` command shows it: a table, JSON or YAML, once or as it changes.

`--watch` prints the table and then a row whenever it would look different. A stream that the server
ends is taken up where it ended; when the server has forgotten that place, the list is read again.
Rows that need more than their object ask for it at most once a second, however much happens: what comes
in between waits for the rest of that second, and the last of it is shown.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock, Timer
from time import sleep
from typing import Final, NamedTuple

from vc_cli.ctl.client import PLAIN, Client
from vc_cli.ctl.errors import EXIT_OK, HTTP_GONE, ApiError, CtlError
from vc_cli.ctl.output import OBJECT_FORMS, print_list, print_object
from vc_cli.ctl.resources import JsonObject, Resource, metadata
from vc_cli.ctl.tables import Column, Table

REFRESH_SECONDS: Final = 1.0
"""Between two looks at what rows need beside their objects."""
RECONNECT_SECONDS: Final = 1.0
"""Between two streams, so that a server that ends each at once is not asked in a circle."""
NOTHING_FOUND: Final = "No resources found"
Row = Sequence[str]


class Listing(NamedTuple):
    """What to list and how a row looks."""

    resource: Resource
    columns: Sequence[Column]
    row: Callable[[JsonObject], Row]
    namespace: str = ""
    query: Mapping[str, str] = {}
    keep: Callable[[JsonObject], bool] = lambda _: True
    accept: str = PLAIN
    refresh: Callable[[], None] | None = None
    """Called before rows are made, for rows that need more than their object."""


def show(client: Client, listing: Listing, *, form: str, watch: bool) -> int:
    """Print it; with `watch` until Ctrl-C."""
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
    rows = {_key(item): listing.row(item) for item in kept}
    table = Table(listing.columns, list(rows.values()))
    print(table.header(), flush=True)
    for row in rows.values():
        print(table.line(row), flush=True)
    followed = Followed(listing, table=table, rows=rows)
    while watch:
        version = _follow(client, listing, version=version, take=followed.take)
    return EXIT_OK


class Followed:
    """Rows that are printed when they look different."""

    def __init__(self, listing: Listing, *, table: Table, rows: dict[str, Row]) -> None:
        self._listing = listing
        self._table = table
        self._rows = rows
        self._late: dict[str, JsonObject] = {}
        """Objects whose rows wait for the next look; at most one of each."""
        self._timer: Timer | None = None
        self._fault: Exception | None = None
        """Of a look that nobody was there to hear of: the next object does."""
        self._lock = Lock()

    def take(self, item: JsonObject) -> None:
        """An object as it is now."""
        if self._listing.refresh is None:
            self._print(item)
            return
        with self._lock:
            if self._fault is not None:
                raise self._fault
            self._late[_key(item)] = item
            if self._timer is None:
                self._timer = Timer(REFRESH_SECONDS, self._look)
                self._timer.daemon = True
                self._timer.start()

    def _look(self) -> None:
        """Once for all that came in the meantime."""
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
    """Take the objects of one stream; gives the version to go on from."""
    try:
        for event in client.watch(
            listing.resource,
            namespace=listing.namespace,
            version=version,
            query=listing.query,
            accept=listing.accept,
        ):
            item = _object_of(event)
            version = str(metadata(item).get("resourceVersion", version))
            if event.get("type") != "BOOKMARK" and listing.keep(item):
                take(item)
        sleep(RECONNECT_SECONDS)
    except ApiError as error:
        if error.code != HTTP_GONE:
            raise
        items, version = _read(client, listing)
        for item in filter(listing.keep, items):
            take(item)
    return version


def _object_of(event: JsonObject) -> JsonObject:
    """The object of an event; an error of the stream is one of the request."""
    item: JsonObject = event.get("object") or {}
    if event.get("type") == "ERROR":
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
