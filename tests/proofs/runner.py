"""Runs a proof over many seeds, in several processes, and remembers how far it came.

Every `make prove-*` goes through here. Without SEEDS a run goes on for ten minutes (or as long as its proof says) from the first seed that
is not yet proven; with SEEDS=from-to it proves that range. Progress is kept beside the stack's own files
(PYROCLAST_HOME), for one state of the source code: counts of other code are not added up.

    PROOF = Proof(name="chaos", title="histories", prove=prove)     # prove(seed) -> Outcome
    sys.exit(main(PROOF))
"""

import argparse
import contextlib
import hashlib
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import msgspec

DEFAULT_SECONDS: Final = 600.0
SEED_MAX: Final = 2**31
PROGRESS_SECONDS: Final = 10.0
FAILURES_SHOWN_MAX: Final = 20
FAILURES_KEPT_MAX: Final = 1000
ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ("libs", "services", "tests/proofs", "tests/simulation", "tests/builders")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one seed showed."""

    counts: dict[str, int] = {}
    """Added up over all seeds and printed: inputs, deaths, jobs."""
    details: dict[str, int] = {}
    """Added up too, under names such as `remedy: add-room`. Only the report lists them, by what stands before the
    colon, largest first."""
    failures: tuple[str, ...] = ()
    """A sentence for each thing that does not hold."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must hold for every seed."""

    name: str
    """As in `make prove-<name>`."""
    title: str
    """What a seed stands for, in the plural: histories, clusters, batches of inputs."""
    prove: Callable[[int], Outcome]
    """A module-level function: other processes import it."""
    chunk: int = 4
    """Seeds handed to a process at once."""
    sources: tuple[str, ...] = ()
    """Folders besides `SOURCES` whose code decides what a seed shows."""
    seconds: float = DEFAULT_SECONDS
    """How long a run without SEEDS goes on."""


class Progress(msgspec.Struct, kw_only=True):
    """What is kept between runs."""

    code: str
    """Digest of the sources the seeds were proven with."""
    ranges: list[tuple[int, int]] = []
    """Proven seeds: first and last, ascending, without gaps between neighbours."""
    counts: dict[str, int] = {}
    details: dict[str, int] = {}
    failures: list[tuple[int, str]] = []
    seconds: float = 0.0

    @property
    def seeds(self) -> int:
        """How many are proven."""
        return sum(last - first + 1 for first, last in self.ranges)

    def missing(self, first: int, last: int) -> Iterator[int]:
        """The seeds of a range that are not proven, ascending."""
        at = first
        for begin, end in self.ranges:
            yield from range(at, min(begin, last + 1))
            at = max(at, end + 1)
        yield from range(at, last + 1)

    def add(self, seed: int, outcome: Outcome) -> None:
        """Seeds may come in any order."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted((*self.ranges, (seed, seed))):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self.ranges = merged
        for total, more in ((self.counts, outcome.counts), (self.details, outcome.details)):
            for name, count in more.items():
                total[name] = total.get(name, 0) + count
        room = FAILURES_KEPT_MAX - len(self.failures)
        self.failures += [(seed, failure) for failure in outcome.failures[:room]]


def main(proof: Proof, argv: Sequence[str] | None = None) -> int:
    """Prove, print counts; 0 when everything holds."""
    arguments = _arguments(proof, argv)
    file = Path(os.environ.get("PYROCLAST_HOME", ".pyroclast")) / "proofs" / f"{proof.name}.json"
    code = code_digest(proof.sources)
    progress = Progress(code=code) if arguments.restart else load(file, code)
    first, last = arguments.seeds or (0, SEED_MAX)
    seconds = arguments.seconds
    if seconds is None:
        seconds = float("inf") if arguments.seeds else proof.seconds
    if progress.seeds:
        print(f"{progress.seeds} {proof.title} are proven with this code; going on")
    with contextlib.suppress(KeyboardInterrupt):
        _run(proof, progress, file, progress.missing(first, last), seconds, arguments.processes)
    save(file, progress)
    return _report(proof, progress)


def _run(
    proof: Proof,
    progress: Progress,
    file: Path,
    seeds: Iterator[int],
    seconds: float,
    processes: int,
) -> None:
    began = shown = time.perf_counter()
    before = progress.seconds
    chunks = batched(seeds, proof.chunk)
    running: set[Future[list[tuple[int, Outcome]]]] = set()
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        while True:
            if time.perf_counter() - began < seconds:
                wanted = 2 * processes - len(running)
                running |= {
                    pool.submit(_prove, proof.prove, chunk) for chunk in islice(chunks, wanted)
                }
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                for seed, outcome in future.result():
                    progress.add(seed, outcome)
            progress.seconds = before + time.perf_counter() - began
            if time.perf_counter() - shown >= PROGRESS_SECONDS:
                shown = time.perf_counter()
                save(file, progress)
                print(_line(proof, progress), flush=True)


def _prove(prove: Callable[[int], Outcome], seeds: tuple[int, ...]) -> list[tuple[int, Outcome]]:
    """In another process, without its log lines. An error of the proof itself is a failure of its seed."""
    logging.disable(logging.CRITICAL)
    found: list[tuple[int, Outcome]] = []
    for seed in seeds:
        try:
            outcome = prove(seed)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other seeds go on
            told = "".join(traceback.format_exception_only(error)).strip()
            outcome = Outcome(failures=(f"the proof ended with {told}",))
        found.append((seed, outcome))
    return found


def batched(seeds: Iterator[int], size: int) -> Iterator[tuple[int, ...]]:
    """Tuples of so many seeds; the last may be shorter."""
    while chunk := tuple(islice(seeds, size)):
        yield chunk


def code_digest(sources: Sequence[str] = ()) -> str:
    """Of everything that decides what a seed shows; `sources` are folders of one proof."""
    digest = hashlib.sha256()
    for folder in (*SOURCES, *sources):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def load(file: Path, code: str) -> Progress:
    """What was proven with this code; nothing when it was other code."""
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=Progress)
    except (OSError, msgspec.DecodeError):
        return Progress(code=code)
    if kept.code == code:
        return kept
    print(f"{kept.seeds} seeds were proven with other code and do not count")
    return Progress(code=code)


def save(file: Path, progress: Progress) -> None:
    """Whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".draft")
    draft.write_bytes(msgspec.json.encode(progress))
    draft.replace(file)


def _line(proof: Proof, progress: Progress) -> str:
    counts = "".join(f", {count:,} {name}" for name, count in sorted(progress.counts.items()))
    return (
        f"{progress.seeds:,} {proof.title}{counts}, {len(progress.failures)} failures, "
        f"{progress.seconds:.0f} s"
    )


def _report(proof: Proof, progress: Progress) -> int:
    ranges = ", ".join(f"{first}-{last}" for first, last in progress.ranges)
    print(f"\nprove-{proof.name}: {_line(proof, progress)}")
    print(f"seeds {ranges or 'none'}; code {progress.code}")
    for name, count in sorted(progress.details.items(), key=_by_title):
        print(f"{count:>9,}  {name}")
    for seed, failure in progress.failures[:FAILURES_SHOWN_MAX]:
        print(f"  seed {seed}: {failure}")
    return 0 if progress.seeds and not progress.failures else 1


def _by_title(detail: tuple[str, int]) -> tuple[str, int, str]:
    name, count = detail
    return name.partition(":")[0], -count, name


def seed_range(text: str) -> tuple[int, int]:
    """`from-to`, both included, or one seed."""
    first, dash, last = text.partition("-")
    if not (first.isascii() and first.isdigit() and (not dash or last.isdigit())):
        raise argparse.ArgumentTypeError(f"SEEDS is {text!r}; write from-to, such as 0-9999")
    low, high = int(first), int(last) if dash else int(first)
    if low > high or high > SEED_MAX:
        raise argparse.ArgumentTypeError(
            f"SEEDS is {text!r}; from must not be above to, and to at most {SEED_MAX}"
        )
    return low, high


def _arguments(proof: Proof, argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"make prove-{proof.name}", description=f"Proves {proof.title}, one for each seed."
    )
    parser.add_argument(
        "--seeds",
        type=seed_range,
        default=os.environ.get("SEEDS") or None,
        help="from-to; default: SEEDS, else as far as ten minutes go from the first unproven seed",
    )
    parser.add_argument("--seconds", type=float, help="stop after so long and keep the progress")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--restart", action="store_true", help="forget what was proven before")
    return parser.parse_args(argv)
