"""`vcctl pod list`: the pods of vcjobs. What READY and STATUS mean, the API server says itself."""

import argparse
from typing import Final

from vc_cli.ctl.client import CELLS, PLAIN, TABLE
from vc_cli.ctl.listing import Listing, Row, show
from vc_cli.ctl.output import OBJECT_FORMS, WIDE
from vc_cli.ctl.parser_options import namespace_of
from vc_cli.ctl.resources import JOB_NAME, PODS, QUEUE_NAME, TASK_SPEC, JsonObject, metadata, spec
from vc_cli.ctl.session import connect
from vc_cli.ctl.tables import Column

COLUMNS: Final = tuple(Column(title) for title in ("Name", "Ready", "Status", "Restart", "Age"))
WIDE_COLUMNS: Final = tuple(Column(title) for title in ("Job", "Task", "Queue", "Node"))


def list_pods(arguments: argparse.Namespace) -> int:
    """`pod list`."""
    client = connect(arguments)
    every, wide = arguments.all_namespaces, arguments.output == WIDE
    plain = arguments.output in OBJECT_FORMS

    def row(pod: JsonObject) -> Row:
        first = [str(metadata(pod).get("namespace", ""))] if every else []
        cells = [str(cell) for cell in (pod.get(CELLS) or [])[: len(COLUMNS)]]
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
            **({} if plain else {"includeObject": "Object"}),
        },
        accept=PLAIN if plain else TABLE,
    )
    return show(client, listing, form=arguments.output, watch=arguments.watch)


def selector(*, job: str, queue: str) -> str:
    """Which pods: those of vcjobs, of one job, of one queue."""
    parts = [f"{JOB_NAME}={job}" if job else JOB_NAME]
    return ",".join(parts + ([f"{QUEUE_NAME}={queue}"] if queue else []))


def _wide_cells(pod: JsonObject) -> list[str]:
    labels = metadata(pod).get("labels") or {}
    words = (labels.get(JOB_NAME), labels.get(TASK_SPEC), labels.get(QUEUE_NAME))
    return [*(str(word or "-") for word in words), str(spec(pod).get("nodeName") or "-")]
