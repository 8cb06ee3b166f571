"""Compares what two engines decided on one scenario, and names the differences.

Only the first session that differs counts: from there on both have another cluster before them. A difference is
the field of the decisions that differs. `_known` names the changes that were made on purpose since a5f268c, the last
commit of the layout before the import root `vc`; they explain nothing when `same` is given, for two checkouts that are
to behave alike.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

Json = dict[str, Any]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first difference of one scenario."""

    seed: int
    session: int
    fields: tuple[str, ...]
    """Paths of all values that differ in that session."""
    old: tuple[Any, ...]
    new: tuple[Any, ...]
    known: str = ""
    """The deliberate change that explains it; empty for a fault."""


def first_difference(
    scenario: Json, old: list[Json], new: list[Json], *, same: bool = False
) -> Difference | None:
    """None when both decided the same in every session; with `same` no change is a deliberate one.

    Reports that differ on purpose do not end the comparison: the cluster after them is the same.
    """
    reported: Difference | None = None
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else {}
        after = new[number] if number < len(new) else {}
        found = list(_differences("", _comparable(before), _comparable(after)))
        if not found:
            continue
        known = "" if same else _known(scenario, old[: number + 1], new[: number + 1], found)
        difference = Difference(
            seed=scenario["seed"],
            session=number,
            fields=tuple(path for path, _, _ in found),
            old=tuple(one for _, one, _ in found),
            new=tuple(other for _, _, other in found),
            known=known,
        )
        if not known or any(path.partition(".")[0] not in REPORTS for path, _, _ in found):
            return difference
        reported = reported or difference
    return reported


def raised(sessions: list[Json]) -> str:
    """What ended the scenario before its last session."""
    return f"{sessions[-1]['raised']}: {sessions[-1]['text']}" if "raised" in sessions[-1] else ""


def _comparable(session: Json) -> Json:
    """Lists of things with a name become tables, so that one that is missing is one difference."""
    if "raised" in session:
        return {"raised": session["raised"]}
    tables = dict(session)
    for field, name in (("reasons", "group"), ("waiting", "group"), ("queues", "queue")):
        rows = session.get(field, [])
        tables[field] = {str(row[name]) + ("+" if row.get("beyond") else ""): row for row in rows}
    statuses = session.get("statuses", [])
    tables["statuses"] = {f"{row['namespace']}/{row['name']}": row for row in statuses}
    return tables


def _differences(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from _differences(
                f"{path}.{name}" if path else name, old.get(name), new.get(name)
            )
    elif old != new:
        yield path, old, new


def _known(
    scenario: Json, old: list[Json], new: list[Json], found: list[tuple[str, Any, Any]]
) -> str:
    """The deliberate changes that explain all that differs; empty when something is left."""
    for name, explains in WHOLE_SCENARIOS.items():
        if explains(scenario, new):
            return name
    if len(old) != len(new):
        return ""
    names = {path: _known_value(path, old, new) for path, _, _ in found}
    if GATES in names.values():  # what a lifted gate reserves changes what is reported of others
        names = {path: name or REPORTED[path.partition(".")[0]] for path, name in names.items()}
    return "" if "" in names.values() else " + ".join(sorted({*names.values()}))


def _groups(scenario: Json) -> Iterator[Json]:
    """Pod groups that the scenario has had; later turns included, which is close enough."""
    made = [*scenario["objects"], *(op for turn in scenario["turns"] for op in turn)]
    for row in made:
        if row.get("kind") == "PodGroup":
            yield row["object"]


def _has_completed(scenario: Json, _: list[Json]) -> bool:
    return any(
        "volcano.sh/completed-members" in group["metadata"]["annotations"]
        for group in _groups(scenario)
    )


def _uses_root(scenario: Json, _: list[Json]) -> bool:
    return any(group["spec"]["queue"] == "root" for group in _groups(scenario))


def _timed_out(_: Json, sessions: list[Json]) -> bool:
    """A group has returned to Pending because it found no node in time."""
    return any(
        condition["reason"] == "InqueueTimeout"
        for session in sessions
        for status in session.get("statuses", ())
        for condition in status["status"].get("conditions", ())
        if "reason" in condition
    )


def _known_value(path: str, old: list[Json], new: list[Json]) -> str:
    """Why one value may differ."""
    table, _, rest = path.partition(".")
    group = rest.partition(".")[0].removesuffix("+")
    before, after = _reason(old[-1], group), _reason(new[-1], group)
    if table == "wake_at":
        return CLAIMS
    if table == "gates":
        lifted = [row for row in old[-1]["gates"] if row not in new[-1]["gates"]]
        codes = {_reason(new[-1], row["group"]).get("code") for row in lifted}
        return GATES if codes <= {"Unsupported", "BehindOthers"} else ""
    if table not in REPORTS or not (before and after):
        return ""
    if (
        path == f"reasons.{group}.reason.unblock.target"
        and after["unblock"]["action"] == "add-room"
    ):
        return ADD_ROOM
    # Conditions are written again when they said something else before.
    said = [_reason(session, group) for session in (*old, *new)] if table != "reasons" else []
    return PERMANENT if any(one.get("permanent") for one in (before, after, *said)) else ""


def _reason(session: Json, group: str) -> Json:
    for row in session.get("reasons", ()):
        if row["group"] == group:
            return dict(row["reason"])
    return {}


Explains = Callable[[Json, list[Json]], bool]
PERMANENT: Final = "which jobs can never start"
ADD_ROOM: Final = "target of add-room"
GATES: Final = "gates of unsupported jobs and behind a fifo head"
CLAIMS: Final = (
    "claims end with the return to Pending, or after a minute without pods (SECURITY.md, C32)"
)
REPORTS: Final = ("reasons", "statuses", "waiting", "wake_at")
REPORTED: Final = defaultdict(str, dict.fromkeys(REPORTS, GATES))
WHOLE_SCENARIOS: Final[dict[str, Explains]] = {
    "completed members count (ADR 0044)": _has_completed,
    "nothing is placed in root": _uses_root,
    CLAIMS: _timed_out,
}
"""Changes after which the whole life of a cluster may be another."""
