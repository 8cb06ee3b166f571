"""State of the controller that is kept in the status of the job.

Intent must be written together with its phase. After a crash, a phase without its scope or a
Command mark without its effect would be half a decision. The status is one atomic write, and
`controlledResources` is the one free-form map in it that every CRD of this API keeps, including
upstream's. So the notes are stored there, beside upstream's own keys:

- `plugin-<name>`: a plugin has created objects for the job (key and value of upstream);
- `volume-pvc-<claim>`: a claim of the job (upstream's);
- `plugins-for`: the hash of the spec for which the plugins were last applied;
- `alive-<task>`: indices whose pods were observed and had not succeeded; a missing one was lost;
- `lost-<task>`: indices whose pod was lost, and since when, while a policy with a time-out waits;
- `completed-<task>`: indices that succeeded and are not run again, even if their pod is gone;
- `run-<number>`: when the pods of a run were created and bound, and when it ran (`runs.py`);
- `restart`: the scope of the current restart;
- `command`: uid of the last Command that was carried out.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.job_controller.logic import indices
from vc.job_controller.logic.job_pods import JobPod
from vc.job_controller.logic.phases import Restart
from vc.job_controller.logic.runs import RUN
from vc.model.values.bounded import read_count, read_decimal

_ALIVE: Final = "alive-"
_COMPLETED: Final = "completed-"
LOST: Final = "lost-"
_RESTART: Final = "restart"
_COMMAND: Final = "command"
_PLUGINS_FOR: Final = "plugins-for"


class RestartScope(msgspec.Struct, frozen=True, kw_only=True):
    """What a restart runs again."""

    restart: Restart
    task: str = ""
    index: int | None = None
    partition: int | None = None
    partition_size: int = 1

    def covers(self, member: JobPod) -> bool:
        """Whether a pod is run again. Whether it has finished is not considered here."""
        if self.restart is not Restart.TARGET:
            return True
        if member.task != self.task:
            return False
        if self.index is not None:
            return member.index == self.index
        if self.partition is not None:
            return member.index // self.partition_size == self.partition
        return True

    def covers_index(self, task: str, index: int) -> bool:
        """Whether an index whose pod is gone is run again."""
        if self.restart is Restart.UNFINISHED:
            return False
        if self.restart is Restart.WHOLE:
            return True
        if task != self.task:
            return False
        if self.index is not None:
            return index == self.index
        return self.partition is None or index // self.partition_size == self.partition


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """The notes of a job, parsed."""

    alive: Mapping[str, frozenset[int]] = {}
    completed: Mapping[str, frozenset[int]] = {}
    lost: Mapping[str, Mapping[int, float]] = {}
    runs: Mapping[str, str] = {}
    """Records of runs by number."""
    scope: RestartScope | None = None
    command: str = ""
    plugins_for: str = ""
    others: Mapping[str, str] = {}
    """Upstream's own keys, and unknown ones."""


def read_notes(resources: Mapping[str, str]) -> Notes:
    """Parse `status.controlledResources`. Keys that are not ours are kept for the next patch."""
    alive: dict[str, frozenset[int]] = {}
    completed: dict[str, frozenset[int]] = {}
    lost: dict[str, dict[int, float]] = {}
    runs: dict[str, str] = {}
    others: dict[str, str] = {}
    for key in sorted(resources):
        if key.startswith(_ALIVE):
            alive[key.removeprefix(_ALIVE)] = indices.from_text(resources[key])
        elif key.startswith(_COMPLETED):
            completed[key.removeprefix(_COMPLETED)] = indices.from_text(resources[key])
        elif key.startswith(LOST):
            lost[key.removeprefix(LOST)] = _read_losses(resources[key])
        # An unknown key with the same prefix is kept as it is, because another writer may own it.
        elif key.startswith(RUN) and read_count(key.removeprefix(RUN)) is not None:
            runs[key.removeprefix(RUN)] = resources[key]
        elif key not in (_RESTART, _COMMAND, _PLUGINS_FOR):
            others[key] = resources[key]
    return Notes(
        alive=alive,
        completed=completed,
        lost=lost,
        runs=runs,
        scope=_read_scope(resources.get(_RESTART, "")),
        command=resources.get(_COMMAND, ""),
        plugins_for=resources.get(_PLUGINS_FOR, ""),
        others=others,
    )


def write_notes(notes: Notes) -> dict[str, str]:
    """Format `status.controlledResources`. This is the reverse of `read_notes`."""
    written = dict(notes.others)
    # Empty sets are left out, so that they do not count as a change of the status.
    written |= {_ALIVE + task: indices.to_text(at) for task, at in notes.alive.items() if at}
    written |= {
        _COMPLETED + task: indices.to_text(at) for task, at in notes.completed.items() if at
    }
    written |= {RUN + number: record for number, record in notes.runs.items()}
    written |= {LOST + task: _write_losses(at) for task, at in notes.lost.items() if at}
    single = {
        _RESTART: _write_scope(notes.scope),
        _COMMAND: notes.command,
        _PLUGINS_FOR: notes.plugins_for,
    }
    written |= {key: value for key, value in single.items() if value}
    # Sorted, so that equal notes are equal bytes and cause no patch.
    return {key: written[key] for key in sorted(written)}


def _write_losses(losses: Mapping[int, float]) -> str:
    """Format losses as `3@1800000000.250`: an index and the time of its loss."""
    return ",".join(f"{index}@{at:.3f}" for index, at in sorted(losses.items()))


def _read_losses(text: str) -> dict[int, float]:
    """Parse losses. An entry that cannot be parsed is left out."""
    losses: dict[int, float] = {}
    for loss in text.split(","):
        index, _, at = loss.partition("@")
        place, moment = read_count(index), read_decimal(at, least=0.0)
        if place is not None and moment is not None:
            losses[place] = moment
    return losses


def _write_scope(scope: RestartScope | None) -> str:
    if scope is None:
        return ""
    if scope.restart is not Restart.TARGET:
        return str(scope.restart.value)
    if scope.index is not None:
        return f"pod/{scope.task}/{scope.index}"
    if scope.partition is not None:
        return f"partition/{scope.task}/{scope.partition}/{scope.partition_size}"
    return f"task/{scope.task}"


def _read_scope(text: str) -> RestartScope | None:
    """Parse a scope. An invalid one restarts only unfinished pods, which loses no results."""
    if not text:
        return None
    parts = text.split("/")
    # Numbers are checked here, because the text may have been edited by a user.
    numbers = [n for part in parts[2:] if (n := read_count(part)) is not None]
    match parts[0], len(parts) - 1, len(numbers):
        case "whole", 0, _:
            return RestartScope(restart=Restart.WHOLE)
        case "task", 1, _:
            return RestartScope(restart=Restart.TARGET, task=parts[1])
        case "pod", 2, 1:
            return RestartScope(restart=Restart.TARGET, task=parts[1], index=numbers[0])
        case "partition", 3, 2:
            return RestartScope(
                restart=Restart.TARGET,
                task=parts[1],
                partition=numbers[0],
                partition_size=max(1, numbers[1]),
            )
        case _:
            return RestartScope(restart=Restart.UNFINISHED)
