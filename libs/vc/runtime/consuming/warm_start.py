"""Starts a view from a checkpoint instead of from the beginning of the logs.

The cache may only make a start faster. If it is unreachable, slow, empty or has an invalid
checkpoint (`vc.snapshot.validity`), the start is cold, and one log line has the reason. A warm
start does not allow earlier decisions: barrier and staleness rule need positions and live progress,
and a restored view has only positions.
"""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from vc.messages.checkpoints import Restorer
from vc.messages.facts import Stamp
from vc.messages.view import View, ViewState
from vc.model.faults import describe
from vc.runtime.hosting.context import Context
from vc.snapshot import Checkpoint, SnapshotUnavailableError
from vc.snapshot.validity import LogSpan, why_unusable

LOAD_SECONDS_MAX: Final = 3.0
"""Time limit for loading; a slower cache is slower than reading the logs."""


class WarmStart:
    """Loads the checkpoint of one name, if it can be used."""

    def __init__(self, context: Context, name: str) -> None:
        self._context = context
        self._name = name

    async def load(self, view: View) -> ViewState | None:
        """The state to start from, or None. `view` must know its incarnation.

        Raises what the bus raises; the cache never fails a start.
        """
        checkpoint, why = await self._fetch()
        if checkpoint is not None:
            why = await self._why_unusable(checkpoint, view)
            if not why:
                try:
                    return await self._restore(checkpoint, view)
                except Exception as error:  # noqa: BLE001 - of damaged bytes, whatever it is
                    why = describe(error)
        self._context.log.info("cold start checkpoint=%s reason=%s", self._name, why)
        return None

    async def _fetch(self) -> tuple[Checkpoint | None, str]:
        try:
            async with asyncio.timeout(LOAD_SECONDS_MAX):
                found = await self._context.snapshot.load(self._name)
        except SnapshotUnavailableError as error:
            return None, str(error)
        except TimeoutError:
            return None, f"the cache did not give it within {LOAD_SECONDS_MAX:g} s"
        return found, "" if found is not None else "there is no whole one in the cache"

    async def _why_unusable(self, checkpoint: Checkpoint, view: View) -> str:
        bus = self._context.bus
        logs = {
            kind.topic: LogSpan(
                starts=await bus.start_offsets(kind.topic), ends=await bus.end_offsets(kind.topic)
            )
            for kind in view.kinds
        }
        assert view.incarnation is not None
        stamp = Stamp(incarnation=view.incarnation, epoch=view.epoch)
        return why_unusable(checkpoint, stamp=stamp, logs=logs, now=self._context.clock.now())

    async def _restore(self, checkpoint: Checkpoint, view: View) -> ViewState:
        restorer = Restorer(
            view.kinds,
            incarnation=checkpoint.incarnation,
            epoch=checkpoint.epoch,
            offsets=checkpoint.offsets,
        )
        # Decoding creates only long-lived objects, so collections would find no garbage.
        with collector_paused():
            for name, chunk in checkpoint.chunks.items():
                restorer.take(name, chunk)
                # Let other tasks run between two chunks.
                await self._context.clock.sleep(0)
        state = restorer.state(checkpoint.row_counts)
        self._context.log.info(
            "warm start objects=%d checkpoint=%s epoch=%d",
            sum(checkpoint.row_counts.values()), self._name, checkpoint.epoch,
        )  # fmt: skip
        return state


@contextmanager
def collector_paused() -> Iterator[None]:
    """Disables the garbage collector while only long-lived objects are created, where collections
    would take most of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
