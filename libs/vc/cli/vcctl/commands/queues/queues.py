"""`vcctl queue create|list|get|operate|delete`.

The counters are computed here from the PodGroups of all namespaces, as in Volcano. They are right
even while the queue controller does not run.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from vc.cli.tables import Column, TextTable
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.connection import connect, expected
from vc.cli.vcctl.api.errors import EXIT_OK, ApiError, CtlError, UsageError
from vc.cli.vcctl.api.resources import (
    COMMANDS,
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    PODGROUPS,
    QUEUES,
    JsonObject,
    metadata,
    spec,
    status,
)
from vc.cli.vcctl.commands.jobs.jobs import command_for
from vc.cli.vcctl.output.listing import Listing, Row, show
from vc.cli.vcctl.output.output import OBJECT_FORMS, WIDE, print_object
from vc.cli.vcctl.parser_options import WEIGHT_MAX, Target

COLUMNS: Final = (
    Column("Name", 25), Column("Weight", 8), Column("State", 8), Column("Parent", 8),
    Column("Inqueue", 8), Column("Pending", 8), Column("Running", 8), Column("Unknown", 8),
    Column("Completed", 8),
)  # fmt: skip
SLURM_TITLES: Final = ("Name", "Weight", "State", "Inqueue", "Pending", "Running", "Unknown")
"""vqueues shows neither the parent nor completed groups."""
WIDE_FIELDS: Final = ("guarantee", "deserved", "capability", "allocated")
PHASES: Final = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
CLOSE: Final = "close"
ACTIONS: Final = {"open": "OpenQueue", CLOSE: "CloseQueue"}
UPDATE: Final = "update"
ALLOW_DELETE: Final = "volcano.sh/allow-delete"
"""The same as in `vc.model.api.keys`, whose import takes longer than vcctl's whole start."""
SYSTEM_NAMESPACE: Final = "volcano-system"
"""The same as in `vc.model.api.keys`."""
OPEN: Final = "Open"
CLOSED: Final = "Closed"
ROOT: Final = "root"
"""The parent that is shown for a queue without one."""


class QueueRows:
    """Rows of queues, with counts of their pod groups by phase."""

    def __init__(self, client: Client, *, titles: Sequence[str] = (), wide: bool = False) -> None:
        self._client = client
        self._counts: Counter[tuple[str, str]] = Counter()
        self._wide = wide
        self._titles = tuple(titles) or tuple(column.title for column in COLUMNS)

    @property
    def columns(self) -> list[Column]:
        """The columns to show."""
        shown = [column for column in COLUMNS if column.title in self._titles]
        return shown + ([Column(name.capitalize()) for name in WIDE_FIELDS] if self._wide else [])

    def refresh(self) -> None:
        """List and count the pod groups again."""
        groups, _ = self._client.list(PODGROUPS)
        self._counts = Counter(
            (str(spec(group).get("queue") or DEFAULT_QUEUE), str(status(group).get("phase", "")))
            for group in groups
        )

    def row(self, queue: JsonObject) -> Row:
        """The row of one queue."""
        name = str(metadata(queue).get("name", ""))
        cells = {
            "Name": name,
            "Weight": str(spec(queue).get("weight", "")),
            "State": str(status(queue).get("state") or OPEN),
            "Parent": str(spec(queue).get("parent") or ("" if name == ROOT else ROOT)),
            **{phase: str(self._counts[name, phase]) for phase in PHASES},
        }
        shown = [cells[title] for title in self._titles]
        return shown + ([_amounts(queue, field) for field in WIDE_FIELDS] if self._wide else [])


def _amounts(queue: JsonObject, field: str) -> str:
    found = status(queue).get(field) if field == "allocated" else spec(queue).get(field)
    # The guarantee has its amounts one level deeper than the other fields.
    if field == "guarantee" and isinstance(found, dict):
        found = found.get("resource")
    from vc.model.values.human_amounts import human_quantities

    shown = human_quantities(found or {})
    return ",".join(f"{name}={amount}" for name, amount in shown.items()) or "-"


def list_queues(arguments: argparse.Namespace) -> int:
    """The command `queue list`."""
    return show_queues(arguments)


def show_queues(arguments: argparse.Namespace, *, titles: Sequence[str] = ()) -> int:
    """Print the list, with the columns of Volcano's vcctl or of vqueues."""
    client = connect(arguments)
    rows = QueueRows(client, titles=titles, wide=arguments.output == WIDE)
    listing = Listing(resource=QUEUES, columns=rows.columns, row=rows.row, refresh=rows.refresh)
    return show(client, listing, form=arguments.output, watch=arguments.watch)


def get(arguments: argparse.Namespace) -> int:
    """The command `queue get`."""
    return show_queue(arguments)


def show_queue(arguments: argparse.Namespace, *, titles: Sequence[str] = ()) -> int:
    """Print one queue as a table, JSON or YAML."""
    client, target = connect(arguments), _target(arguments)
    with expected(target, "queue"):
        queue = client.get(QUEUES, target.name)
    if arguments.output in OBJECT_FORMS:
        print_object(queue, arguments.output)
        return EXIT_OK
    rows = QueueRows(client, titles=titles, wide=arguments.output == WIDE)
    rows.refresh()
    row = rows.row(queue)
    table = TextTable(rows.columns, [row])
    print(table.header())
    print(table.line(row))
    return EXIT_OK


def create(arguments: argparse.Namespace) -> int:
    """The command `queue create`."""
    target = _target(arguments)
    body: JsonObject = {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": target.name},
        "spec": {"weight": arguments.weight},
    }
    if arguments.parent:
        body["spec"]["parent"] = arguments.parent
    client = connect(arguments)
    made = client.create(QUEUES, body)
    if arguments.state == CLOSED:
        _close(client, made)
    print(f"create queue {target.name} successfully")
    return EXIT_OK


def _close(client: Client, queue: JsonObject) -> None:
    """Close a new queue by a Command, because the server drops the status of created objects."""
    try:
        _order(client, queue, action=ACTIONS[CLOSE])
    except CtlError as error:
        name = metadata(queue).get("name", "")
        raise CtlError(f"queue {name!r} is created, but open: {error}") from None


def _order(client: Client, queue: JsonObject, *, action: str) -> None:
    """Create a Command for a queue.

    A Command in the system namespace is always accepted. A user who may not write there may still
    have permission to update the queue, which admission checks in any other namespace.
    """
    body = command_for(queue, QUEUES, action=action)
    try:
        client.create(COMMANDS, body, namespace=SYSTEM_NAMESPACE)
    except ApiError as error:
        if error.code not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
            raise
        client.create(COMMANDS, body, namespace=DEFAULT_NAMESPACE)


def operate(arguments: argparse.Namespace) -> int:
    """The command `queue operate`: open and close create a Command, a weight is patched
    directly.
    """
    target = _target(arguments)
    # Usage errors are reported before the cluster is contacted.
    if arguments.action == UPDATE and arguments.weight is None:
        raise UsageError(f"update needs a weight from 1 to {WEIGHT_MAX}: -w WEIGHT")
    if arguments.action != UPDATE and arguments.weight is not None:
        raise UsageError(f"-w goes with -a update; -a {arguments.action} changes no weight")
    # Every queue is below root, so closing it would affect all of them.
    if arguments.action == CLOSE and target.name == ROOT:
        raise CtlError(
            "queue 'root' cannot be closed: every queue is below it; close those instead"
        )
    client = connect(arguments)
    with expected(target, "queue"):
        if arguments.action == UPDATE:
            client.merge(QUEUES, target.name, {"spec": {"weight": arguments.weight}})
        else:
            queue = client.get(QUEUES, target.name)
            _order(client, queue, action=ACTIONS[arguments.action])
    print(f"{arguments.action} queue {target.name} successfully")
    return EXIT_OK


def delete(arguments: argparse.Namespace) -> int:
    """The command `queue delete`. With --force also for a queue in use."""
    target = _target(arguments)
    client = connect(arguments)
    with expected(target, "queue"):
        if arguments.force:
            _force_delete(client, target.name)
        else:
            client.delete(QUEUES, target.name)
    print(f"delete queue {target.name} successfully")
    return EXIT_OK


def _force_delete(client: Client, name: str) -> None:
    """Delete a queue in use.

    If the deletion fails, the annotation that allows it is removed again.
    """
    # Admission rejects the deletion of a queue in use unless it has this annotation.
    client.merge(QUEUES, name, {"metadata": {"annotations": {ALLOW_DELETE: "true"}}})
    try:
        client.delete(QUEUES, name)
    except CtlError:
        client.merge(QUEUES, name, {"metadata": {"annotations": {ALLOW_DELETE: None}}})
        raise


def _target(arguments: argparse.Namespace) -> Target:
    name = arguments.words or arguments.name
    if not name:
        raise UsageError("which queue? Write its name, or -n NAME")
    return Target("", name)
