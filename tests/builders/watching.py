"""The watcher's part that follows one kind, alone: no lease, no term, one epoch."""

from vc_messages.facts import Stamp
from vc_model.kinds import Kind
from vc_runtime.context import Context
from vc_watcher.config import Config
from vc_watcher.kindwatch import KindWatch, Publisher
from vc_watcher.logic import Index
from vc_watcher.meters import Meters


async def watch_of(context: Context, kind: Kind) -> KindWatch:
    """On the kind's topic as it is now."""
    return KindWatch(
        context,
        Config(),
        index=Index(kind, stamp=Stamp(incarnation="alone", epoch=1)),
        publisher=Publisher(context, may_write=lambda: True),
        meters=Meters(context.metrics),
        end_offsets=await context.bus.end_offsets(kind.topic),
    )
