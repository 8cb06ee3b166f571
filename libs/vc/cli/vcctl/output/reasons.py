"""Formats a scheduler's reason: stage, sentence, amounts, checks and remedy."""

from collections.abc import Iterator, Sequence
from typing import Final

from vc.cli.tables import Column, TextTable, printable
from vc.cli.vcctl.api.resources import JsonObject

LINE_LENGTH_MAX: Final = 100
TITLE_LENGTH: Final = 11
STAGES: Final = {
    "invalid": "its manifest cannot be used",
    "unsupported": "it requests something that this release does not support",
    "queue-missing": "its queue does not exist",
    "queue-closed": "its queue lets no jobs in",
    "quota": "its queue, or one above it, is full",
    "overcommit": "overcommit limit reached",
    "namespace-quota": "a ResourceQuota of its namespace is used up",
    "volumes": "a claim on storage is missing or not bound yet",
    "tasks": "not all its pods exist yet, or some are gated",
    "bind": "a bind failed and is tried again",
    "predicate": "no node passes the checks",
    "gang": "not all pods that must start together fit",
    "order": "its queue is first in, first out, and another job is before it",
    "victims": "its nodes are reserved until terminating pods are gone",
}
_SCATTERED: Final = "(in all there is enough; it is scattered over the nodes)"
_UNBLOCK: Final = {
    "create-queue": "create queue {target}",
    "open-queue": "vcctl queue operate -n {target} -a open",
    "move-job": "create the job again in one of the queues {target}",
    "raise-capability": "raise the capability of queue {target} by {amounts}, or wait for its jobs",
    "add-room": "capacity for {amounts}{pods}{where}",
    "create-pods": "{count} more pods of {target}",
    "lift-gates": "remove the scheduling gates of {count} pods of {target}",
    "create-peer": "a pod with the labels {target} for it to be near",
    "raise-weight": "raise the weight of queue {target} to {weight}, or wait for its jobs",
    "raise-quota": "raise ResourceQuota {target} by {amounts}, or wait for pods of the namespace",
    "create-claim": "create claim {target}",
    "create-volume": "create volume {target}",
    "bind-claim": "bind claim {target} to a volume",
    "free-claim": "end the pod that uses claim {target}",
    "reach-volume": "capacity for {amounts} on a node that reaches the volume of claim {target}{where}",
    "add-volume": "a free volume that suits claim {target}",
    "remove-field": "create it without the field: {target}",
    "wait": "nothing to do but wait",
    "fix": "correct the manifest",
}


def reason_lines(reason: JsonObject, remedy: JsonObject | None = None) -> Iterator[str]:
    """All lines, the most important first. A checked remedy replaces the proposal in the reason."""
    stage = str(reason.get("stage", ""))
    never = "; it can never start as things are" if reason.get("permanent") else ""
    yield f"stage:     {stage} ({STAGES.get(stage, 'see the reason')}{never})"
    yield sentence(str(reason.get("sentence", "")))
    if reason.get("needed_pods"):
        yield f"pods:      {reason['needed_pods']} needed, {reason.get('placeable_pods', 0)} fit now"
    unblock = reason.get("unblock")
    # A remedy was searched for this job; the proposal in the reason is less specific.
    if remedy is not None:
        yield from _remedy_lines(remedy)
    elif isinstance(unblock, dict):
        yield f"unblock:   {_unblock(unblock)}"
        for other in unblock.get("also") or []:
            yield f"           and {_unblock(other)}"
    amounts = reason.get("amounts") or []
    if amounts:
        yield ""
        titles = ("Resource", "Needed", "Available", "Missing")
        yield from table_lines(titles, [_amount_row(amount) for amount in amounts])
        # No single resource is missing in total, so the free resources must be fragmented.
        if not any(str(amount["missing"]) != "0" for amount in amounts):
            yield _SCATTERED
    checks = reason.get("checks") or []
    if checks:
        yield ""
        rows = [[str(check["name"]), str(check["nodes_left"])] for check in checks]
        yield from table_lines(("Check", "Nodes left"), rows)


def _remedy_lines(remedy: JsonObject) -> Iterator[str]:
    """The steps that start the job, whether they were checked, the victims and alternatives."""
    basis = str(remedy.get("basis", ""))
    steps = [str(step) for step in remedy.get("steps") or []]
    for number, step in enumerate(steps):
        yield sentence(f"and {step}" if number else step, title="" if number else "unblock:")
    yield sentence(basis if not steps else f"({basis})", title="" if steps else "unblock:")
    victims = remedy.get("victims") or []
    if victims:
        total = int(remedy.get("victimsTotal") or len(victims))
        more = f" and {total - len(victims)} more" if total > len(victims) else ""
        yield sentence(f"evicted for it then: {', '.join(map(str, victims))}{more}", title="")
    for other in remedy.get("alternatives") or []:
        yield sentence(f"or: {other}", title="")


def sentence(text: str, *, title: str = "reason:") -> str:
    """A text wrapped to lines that are indented below each other."""
    from textwrap import fill

    return fill(
        printable(text),
        width=LINE_LENGTH_MAX,
        initial_indent=title.ljust(TITLE_LENGTH),
        subsequent_indent=" " * TITLE_LENGTH,
        break_long_words=False,
    )


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a small table."""
    table = TextTable([Column(title) for title in titles], rows)
    yield table.header()
    for row in rows:
        yield table.line(row)


def _amount_row(amount: JsonObject) -> list[str]:
    name = str(amount["resource"])
    needed, missing = (_shown(name, amount[key], up=True) for key in ("needed", "missing"))
    return [name, needed, _shown(name, amount["available"]), missing]


def _shown(resource: str, amount: object, *, up: bool = False) -> str:
    """A readable quantity. An older dashboard sends integers in base units."""
    from vc.model.values.human_amounts import human_amount, human_quantity

    if isinstance(amount, int):
        return human_amount(resource, amount, up=up)
    return human_quantity(resource, str(amount), up=up)


def _unblock(unblock: JsonObject) -> str:
    amounts = unblock.get("amounts") or {}
    pods = int(unblock.get("pods") or 0)
    text = ", ".join(
        f"{name} {_shown(name, amount, up=True)}"
        for name, amount in amounts.items()
        if name != "pods"
    )
    # A newer dashboard may send an action that this release does not have a text for.
    form = _UNBLOCK.get(str(unblock.get("action", "")), "{action} {target}")
    return form.format(
        action=unblock.get("action", ""),
        target=repr(unblock.get("target", "")),
        amounts=text or "nothing more",
        pods=f" each, for {pods} more pods" if pods else "",
        count=pods,
        weight=unblock.get("weight", 0),
        where=_where(unblock.get("where") or {}),
    )


def _where(where: JsonObject) -> str:
    """The nodes on which the resources are needed."""
    labels = [f"{key}={value}" if value else key for key, value in _items(where, "labels")]
    parts = [
        (" on node {}", [where["node"]] if where.get("node") else []),
        (" on nodes with {}", labels),
        (" on nodes each with its own {}", where.get("apart") or []),
        (" at every {}", where.get("across") or []),
        (" on nodes without {}, unless its pods tolerate it", where.get("taints") or []),
    ]
    return "".join(form.format(", ".join(found)) for form, found in parts if found)


def _items(where: JsonObject, key: str) -> list[tuple[str, str]]:
    found = where.get(key)
    return list(found.items()) if isinstance(found, dict) else []
