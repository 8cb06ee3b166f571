"""How much room each node has for each shape, during one session.

Capacities and first scores are computed over all nodes once per shape, and after that only for nodes
that something was put on or taken off since: a session of a thousand gangs of one shape does not
divide five thousand rows a thousand times.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from vc_scheduler.logic.fit import NO_ROOM, Ints, capacity, has_room, place, rank_keys
from vc_scheduler.logic.framework import Candidates, Framework
from vc_scheduler.logic.images import ImageRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import Filtered, Mask, NodeTable
from vc_scheduler.logic.vacancy import Vacancies, Vacancy

_MANY: Final = 2**31
"""More pods than anybody asks for."""


@dataclass(kw_only=True, eq=False)
class _Room:
    """One shape's view of the nodes, as of `seen` entries of the log."""

    shape: Shape
    request: Ints
    possible: bool
    """Every resource it asks for is known to the table."""
    filtered: Filtered
    capacities: Ints
    keys: Ints
    """Ranks of the nodes for the next pod; see `fit.rank_keys`."""
    seen: int
    total: int | None = None
    """How many pods the nodes take together; None until somebody asks."""

    def placeable(self, wanted: int) -> int:
        """How many of `wanted` pods find room."""
        if self.total is None:
            self.total = together(self.capacities)
        return min(wanted, self.total)


class Rooms:
    """The working copy of what is used, and what each shape makes of it."""

    def __init__(
        self, nodes: NodeTable, framework: Framework, images: Mapping[str, ImageRow]
    ) -> None:
        self.nodes = nodes
        self.used: Ints = nodes.used.copy()
        self._framework = framework
        self._images = images
        self._image_scores: dict[tuple[str, ...], _Bonus | None] = {}
        """By what containers run: what a node is worth more for having it already."""
        self._rooms: dict[bytes, _Room] = {}
        self._requests: dict[bytes, Ints] = {}
        self._vacancies = Vacancies(self.idle)
        self._log: list[Ints] = []
        """Rows that changed, oldest first."""
        self._states: list[int] = [0]
        """Ids of states; statements end in the reverse order of their beginning, so giving back
        returns to the state before."""
        self._states_made = 0

    @property
    def state(self) -> int:
        """Equal ids mean equal rooms, within one session."""
        return self._states[-1]

    def placeable(self, shape: Shape, wanted: int) -> int:
        """How many of `wanted` pods find room now."""
        return self._room(shape).placeable(wanted)

    def place(self, shape: Shape, count: int) -> Ints | None:
        """Rows for `count` pods, or None when they do not all fit. Takes nothing yet."""
        room = self._room(shape)
        if room.placeable(count) < count:
            return None
        bonus = self._image_score(shape)
        return place(
            count,
            capacities=room.capacities,
            keys=room.keys if bonus is None else room.keys + bonus.keys,
            score_rows=_Scoring(self, room, bonus).scores,
        )

    def vacancy(self, filtered: Filtered) -> Vacancy:
        """What these nodes have free now."""
        return self._vacancies.of(filtered, state=self.state)

    def fits(self, shape: Shape, rows: Ints) -> bool:
        """Whether pods of the shape fit on exactly these rows (a row may come more than once)."""
        wanted = np.bincount(rows, minlength=self.nodes.count)
        return bool((wanted <= self._room(shape).capacities).all())

    def best(self, shape: Shape, mask: Mask, more: Ints | None = None) -> int | None:
        """The row the next pod goes to, of those in the mask; None when none has room.

        `more` is added to the scores: what depends on the pods that lie there.
        """
        known = self._room(shape).keys
        keys = np.where(mask, known, NO_ROOM)
        bonus = self._image_score(shape)
        if more is not None:
            keys += more * self.nodes.count
        if bonus is not None:
            keys += bonus.keys
        if not len(keys):
            return None
        row = int(keys.argmax())
        return row if has_room(keys[row]) else None

    def _image_score(self, shape: Shape) -> "_Bonus | None":
        if not self._images or not shape.images:
            return None
        asked = shape.images
        if asked not in self._image_scores:
            found = self._framework.image_score(asked, self._images, self.nodes.static)
            known = None if found is None else _Bonus(found, found * self.nodes.count)
            self._image_scores[asked] = known
        return self._image_scores[asked]

    def take(self, shape: Shape, rows: Ints) -> None:
        """Pods of the shape sit on these rows (a row may come more than once)."""
        np.add.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        self._states_made += 1
        self._states.append(self._states_made)

    def give_back(self, shape: Shape, rows: Ints) -> None:
        """The reverse of the last `take` that was not given back."""
        np.subtract.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        self._states.pop()

    def leave(self, shape: Shape, rows: Ints) -> None:
        """As if pods of the shape were gone from these rows; `stay` or `take` puts them back."""
        np.subtract.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        self._states_made += 1
        self._states.append(self._states_made)

    def stay(self, shape: Shape, rows: Ints) -> None:
        """The reverse of the last `leave`, with nothing taken since."""
        np.add.at(self.used, rows, self.request(shape))
        self._log.append(rows)
        self._states.pop()

    def filtered(self, shape: Shape) -> Filtered:
        """Which nodes the shape may go to."""
        return self._framework.filtered(shape, self.nodes.static)

    def knows(self, shape: Shape) -> bool:
        """Whether any node has every resource that it asks for."""
        return all(name in self.nodes.resources for name, _ in shape.request)

    def request(self, shape: Shape) -> Ints:
        """The request as a vector over the table's resources."""
        request = self._requests.get(shape.key)
        if request is None:
            request = np.zeros(len(self.nodes.resources), dtype=np.int64)
            for name, amount in shape.request:
                if name in self.nodes.resources:
                    request[self.nodes.resources[name]] = amount
            self._requests[shape.key] = request
        return request

    def _room(self, shape: Shape) -> _Room:
        room = self._rooms.get(shape.key)
        if room is None:
            room = self._rooms[shape.key] = self._make(shape)
        elif room.seen < len(self._log):
            self._refresh(room)
        return room

    def idle(self, mask: Mask) -> Ints:
        """What these nodes have free of each resource, a row a node."""
        idle: Ints = np.maximum(self.nodes.allocatable[mask] - self.used[mask], 0)
        return idle

    def _make(self, shape: Shape) -> _Room:
        count = self.nodes.count
        room = _Room(
            shape=shape,
            request=self.request(shape),
            possible=self.knows(shape),
            filtered=self.filtered(shape),
            capacities=np.zeros(count, dtype=np.int64),
            keys=np.full(count, NO_ROOM, dtype=np.int64),
            seen=len(self._log),
        )
        if room.possible and not self.vacancy(room.filtered).takes_none(room.request):
            self._compute(room, np.arange(count))
        return room

    def _refresh(self, room: _Room) -> None:
        changed = np.concatenate(self._log[room.seen :])
        room.seen = len(self._log)
        if len(changed) >= self.nodes.count:
            changed = np.flatnonzero(np.bincount(changed, minlength=self.nodes.count))
        self._compute(room, changed)

    def _compute(self, room: _Room, rows: Ints) -> None:
        if not room.possible:
            return
        room.total = None
        rows = rows[room.filtered.mask[rows]]
        idle = self.nodes.allocatable[rows] - self.used[rows]
        capacities = room.capacities[rows] = capacity(idle, room.request)
        room.keys[rows] = NO_ROOM
        takes = capacities > 0
        if takes.any():  # nobody asks for the score of a node that takes no more
            rows = rows[takes]
            scores = self.score(room, rows, deep=1)[:, 0]
            room.keys[rows] = rank_keys(rows, scores, capacities[takes], count=self.nodes.count)

    def score(self, room: _Room, rows: Ints, *, deep: int) -> Ints:
        """[row, pod]: the score of each next pod on each row."""
        return self._framework.score(
            Candidates(
                shape=room.shape,
                request=room.request,
                rows=rows,
                nodes=self.nodes.static,
                allowed=room.filtered.mask,
                resources=self.nodes.resources,
                used=self.used[rows],
                allocatable=self.nodes.allocatable[rows],
                deep=deep,
            )
        )


def together(capacities: Ints) -> int:
    """How many pods all nodes take; as far as anybody asks, so that the sum stays within int64."""
    return int(np.minimum(capacities, _MANY).sum())


class _Bonus(NamedTuple):
    """Something to be added to the scores of nodes, and the same as ranks."""

    scores: Ints
    keys: Ints


@dataclass(frozen=True, eq=False)
class _Scoring:
    """Scores rows for one shape, as `fit.place` asks for it."""

    rooms: Rooms
    room: _Room
    bonus: "_Bonus | None"

    def scores(self, rows: Ints, deep: int) -> Ints:
        scores = self.rooms.score(self.room, rows, deep=deep)
        return scores if self.bonus is None else scores + self.bonus.scores[rows, None]
