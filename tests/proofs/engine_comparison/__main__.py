"""`make compare-engines OLD=<checkout>`: the engine of an old checkout against this one, on random clusters.

    git worktree add ../old-engine <commit>
    make compare-engines OLD=../old-engine [NEW="checkout checkout"] [SEEDS=from-to] [ARGS=--same]

Both engines get the same scenarios (`clusters.py`): queue trees, priorities, preempt, reclaim, affinity, volumes, gates,
budgets, quotas, some sessions with changes in between. Binds, evictions, phases, reason codes, stages, remedies and all
numbers must be equal; texts for people are left out. A difference is printed with its seed; `--show SEED` prints both sides.
A checkout of the layout before the import root `vc` works, too (`engine_worker.py` knows both). The exit status is 1 when
a difference is not one of the deliberate changes in `comparison.py`.
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.proofs.engine_comparison.clusters import scenario
from tests.proofs.engine_comparison.comparison import Difference, first_difference, raised

HERE: Final = Path(__file__).parent
REPOSITORY: Final = HERE.parents[2]
SEEDS: Final = "0-19999"
SHOWN_MAX: Final = 200
PROGRESS_SEEDS: Final = 1000


class Worker:
    """An engine in a process of its own."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        command = [sys.executable, str(HERE / "engine_worker.py"), str(checkout)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, line: bytes) -> list[dict[str, Any]]:
        """One scenario; only one engine runs at a time, so that a comparison takes one processor."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the engine of {self.checkout} ended")
        sessions: list[dict[str, Any]] = msgspec.json.decode(answer)
        return sessions

    def close(self) -> None:
        self._process.communicate()


class Counts:
    """What was compared with one new checkout."""

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.faults: list[Difference] = []

    def add(self, sessions: list[dict[str, Any]], difference: Difference | None) -> None:
        if difference is None:
            self.numbers["scenarios equal"] += 1
        else:
            kind = ", ".join(sorted({field.partition(".")[0] for field in difference.fields}))
            self.kinds[difference.known or f"NOT EXPLAINED: {kind}"] += 1
            if not difference.known:
                self.faults.append(difference)
        if fault := raised(sessions):
            self.numbers[f"raised: {fault[:90]}"] += 1
        for session in sessions:
            self.numbers["sessions"] += 1
            for name in (
                "binds",
                "evictions",
                "takeovers",
                "releases",
                "gates",
                "claims",
                "reasons",
            ):
                self.numbers[name] += len(session.get(name, ()))
            for job in session.get("reasons", ()):
                self.kinds[f"waited at stage: {job['reason']['stage']}"] += 1


def compare(old: Path, new: list[Path], seeds: range, *, same: bool) -> dict[Path, Counts]:
    """Runs all scenarios; differences are printed as they are found."""
    workers = [Worker(checkout) for checkout in (old, *new)]
    counts = {checkout: Counts() for checkout in new}
    for seed in seeds:
        if seed % PROGRESS_SEEDS == 0 and seed != seeds.start:
            faults = sum(len(counted.faults) for counted in counts.values())
            print(f"seed {seed}: {faults} not explained", file=sys.stderr, flush=True)
        drawn = scenario(seed)
        line = msgspec.json.encode(drawn)
        expected = workers[0].run(line)
        for worker in workers[1:]:
            found = worker.run(line)
            difference = first_difference(drawn, expected, found, same=same)
            counted = counts[worker.checkout]
            counted.add(found, difference)
            if difference is not None and not difference.known and len(counted.faults) <= SHOWN_MAX:
                fields = ", ".join(difference.fields[:6])
                print(
                    f"{worker.checkout.name} seed {seed} session {difference.session}: {fields}",
                    flush=True,
                )
    for worker in workers:
        worker.close()
    return counts


def show(old: Path, new: Path, seed: int) -> None:
    """Both sides of the first difference of one seed."""
    drawn = scenario(seed)
    line = msgspec.json.encode(drawn)
    one, other = Worker(old), Worker(new)
    expected, found = one.run(line), other.run(line)
    one.close()
    other.close()
    difference = first_difference(drawn, expected, found)
    print(f"old raised: {raised(expected)!r}; new raised: {raised(found)!r}")
    if difference is not None:
        print(f"session {difference.session} {difference.known}")
        rows = zip(difference.fields, difference.old, difference.new, strict=True)
        for field, before, after in rows:
            print(f"{field}\n  old {before}\n  new {after}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="compare-engines", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="*", default=[])
    parser.add_argument("--seeds", default=SEEDS, help=f"from-to, both included ({SEEDS})")
    parser.add_argument("--same", action="store_true", help="no difference is a deliberate change")
    parser.add_argument("--show", type=int, metavar="SEED")
    given = parser.parse_args()
    new = [path.resolve() for path in given.new] or [REPOSITORY]
    if given.show is not None:
        show(given.old.resolve(), new[0], given.show)
        return 0
    first, _, last = given.seeds.partition("-")
    counts = compare(
        given.old.resolve(), new, range(int(first), int(last or first) + 1), same=given.same
    )
    for checkout, counted in counts.items():
        print(f"== {checkout.name}: seeds {given.seeds}")
        for name, count in [*sorted(counted.numbers.items()), *sorted(counted.kinds.items())]:
            print(f"{count:9,} {name}")
    return 1 if any(counted.faults for counted in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
