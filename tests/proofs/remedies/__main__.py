"""`make prove-remedies`: at least 10,000 random waiting jobs, each with a remedy that starts it.

python -m tests.proofs.remedies [--jobs 10000] [--seed 0] [--processes N]
"""

import argparse
import gc
import multiprocessing
import os
import sys
import time
from collections import Counter
from typing import Final

from tests.proofs.remedies.proof import Verdict, prove

JOBS_MIN: Final = 10_000
WORLDS_MAX: Final = 200_000
PROGRESS_EVERY: Final = 500
WRONG_SHOWN_MAX: Final = 20
GC_ALLOCATIONS: Final = 200_000
"""Between two collections: sessions make many objects that refer to nothing in a circle."""


def main() -> int:
    """Print progress, then counts; 0 when every remedy is true."""
    parser = argparse.ArgumentParser(prog="make prove-remedies", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS_MIN, help="waiting jobs, at the least")
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    began = time.perf_counter()
    tally = Tally(began)
    seeds = range(arguments.seed, arguments.seed + WORLDS_MAX)
    with multiprocessing.Pool(arguments.processes, _prepare) as pool:
        for verdicts in pool.imap(prove, seeds, chunksize=4):
            tally.take(verdicts)
            if tally.jobs >= arguments.jobs:
                break
        pool.terminate()
    tally.report()
    return 0 if tally.holds else 1


def _prepare() -> None:
    gc.set_threshold(GC_ALLOCATIONS)


class Tally:
    """What was counted so far."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._kinds: Counter[str] = Counter()
        self._stages: Counter[str] = Counter()
        self._wrong: list[Verdict] = []
        self._simulations = 0
        self._at_once = 0
        self.worlds = 0
        self.jobs = 0

    @property
    def holds(self) -> bool:
        """Whether nothing was wrong."""
        return self.jobs > 0 and not self._wrong

    def take(self, verdicts: list[Verdict]) -> None:
        """Of one world."""
        self.worlds += 1
        for verdict in verdicts:
            self.jobs += 1
            self._kinds[verdict.kind] += 1
            self._stages[verdict.stage] += 1
            self._simulations += verdict.simulations
            self._at_once += verdict.proposed_at_once
            if verdict.wrong:
                self._wrong.append(verdict)
            if self.jobs % PROGRESS_EVERY == 0:
                print(
                    f"{self.jobs} jobs in {self.worlds} clusters, {len(self._wrong)} wrong, "
                    f"{self._seconds:.0f} s",
                    flush=True,
                )

    def report(self) -> None:
        """Everything."""
        print(f"\n{self.jobs} waiting jobs in {self.worlds} random clusters, {self._seconds:.0f} s")
        print(f"simulations of the search: {self._simulations / max(1, self.jobs):.1f} a job")
        print(f"the session's own proposal was the remedy: {self._at_once}")
        for title, counts in (("remedy", self._kinds), ("waited at stage", self._stages)):
            print(f"\n{'jobs':>7}  {title}")
            for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
                print(f"{count:>7}  {name}")
        print(f"\nremedies that do not start the job: {len(self._wrong)}")
        for verdict in self._wrong[:WRONG_SHOWN_MAX]:
            print(f"  seed {verdict.seed} {verdict.group} {verdict.kind}: {verdict.wrong}")

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._began


if __name__ == "__main__":
    sys.exit(main())
