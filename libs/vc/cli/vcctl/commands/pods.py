"""`vcctl pod list`: the pods of vcjobs. The API server computes READY and STATUS."""

import argparse
from typing import Final

from vc.cli.tables import Column
from vc.cli.vcctl.api.client import CELLS, PLAIN, TABLE
from vc.cli.vcctl.api.connection import connect
from vc.cli.vcctl.api.resources import (
    JOB_NAME,
    PODS,
    QUEUE_NAME,
    TASK_SPEC,
    JsonObject,
    metadata,
    spec,
)
from vc.cli.vcctl.output.listing import Listing, Row, show
from vc.cli.vcctl.output.output import OBJECT_FORMS, WIDE
from vc.cli.vcctl.parser_options import namespace_of

COLUMNS: Final = tuple(Column(title) for title in ("Name", "Ready", "Status", "Restart", "Age"))
WIDE_COLUMNS: Final = tuple(Column(title) for title in ("Job", "Task", "Queue", "Node"))


def list_pods(arguments: argparse.Namespace) -> int:
    """The command `pod list`."""
    client = connect(arguments)
    every, wide = arguments.all_namespaces, arguments.output == WIDE
    plain = arguments.output in OBJECT_FORMS

    def row(pod: JsonObject) -> Row:
        first = [str(metadata(pod).get("namespace", ""))] if every else []
        cells = [str(cell) for cell in (pod.get(CELLS) or [])[: len(COLUMNS)]]
        # A server without the expected columns must not shift the additional ones.
        missing = [""] * (len(COLUMNS) - len(cells))
        return [*first, *cells, *missing, *(_wide_cells(pod) if wide else [])]

    listing = Listing(
        resource=PODS,
        columns=[
            *([Column("Namespace")] if every else []),
            *COLUMNS,
            *(WIDE_COLUMNS if wide else []),
        ],
        row=row,
        namespace=namespace_of(arguments),
        query={
            "labelSelector": selector(job=arguments.job, queue=arguments.queue),
            # Tables have only metadata by default, but the wide columns need the whole object.
            **({} if plain else {"includeObject": "Object"}),
        },
        accept=PLAIN if plain else TABLE,
    )
    return show(client, listing, form=arguments.output, watch=arguments.watch)


def selector(*, job: str, queue: str) -> str:
    """The label selector for the pods of vcjobs, of one job or of one queue."""
    parts = [f"{JOB_NAME}={job}" if job else JOB_NAME]
    return ",".join(parts + ([f"{QUEUE_NAME}={queue}"] if queue else []))


def _wide_cells(pod: JsonObject) -> list[str]:
    labels = metadata(pod).get("labels") or {}
    words = (labels.get(JOB_NAME), labels.get(TASK_SPEC), labels.get(QUEUE_NAME))
    return [*(str(word or "-") for word in words), str(spec(pod).get("nodeName") or "-")]
