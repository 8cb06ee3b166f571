"""A list as every `list` command shows it: a table, JSON or YAML, once or as it changes.

`--watch` prints the table and then a row whenever it would look different. A stream that the server
ends is taken up where it ended; when the server has forgotten that place, the list is read again.
"""

from collections.abc import Callable, Mapping, Sequence
from time import sleep
from typing import Final, NamedTuple

from vc_cli.ctl.client import PLAIN, Client
from vc_cli.ctl.errors import EXIT_OK, HTTP_GONE, ApiError
from vc_cli.ctl.output import OBJECT_FORMS, print_list, print_object
from vc_cli.ctl.resources import JsonObject, Resource, metadata
from vc_cli.ctl.tables import Column, Table

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
    refresh: Callable[[], None] = lambda: None
    """Called before rows are made, for rows that need more than their object."""


def show(client: Client, listing: Listing, *, form: str, watch: bool) -> int:
    """Print it; with `watch` until Ctrl-C."""
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
    print(table.header())
    for row in rows.values():
        print(table.line(row), flush=True)
    while watch:
        version = _follow_rows(client, listing, table=table, rows=rows, version=version)
    return EXIT_OK


def _follow_rows(
    client: Client, listing: Listing, *, table: Table, rows: dict[str, Row], version: str
) -> str:
    """One stream's rows; gives the version to go on from."""

    def shown(item: JsonObject) -> None:
        listing.refresh()
        row = listing.row(item)
        if rows.get(_key(item)) != row:
            rows[_key(item)] = row
            print(table.line(row), flush=True)

    return _follow(client, listing, version=version, take=shown)


def _watch_objects(
    client: Client, listing: Listing, *, form: str, version: str, first: list[JsonObject]
) -> int:
    for item in first:
        print_object(item, form)
    while True:
        version = _follow(
            client, listing, version=version, take=lambda item: print_object(item, form)
        )


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
