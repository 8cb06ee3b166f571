"""The watcher's part that follows one kind, alone: no lease, no term, one epoch."""

from vc.messages.facts import Stamp
from vc.model.api.kinds import Kind
from vc.runtime.hosting.context import Context
from vc.watcher.config import Config
from vc.watcher.kindwatch import KindWatch
from vc.watcher.logic import Index
from vc.watcher.metrics import WatcherMetrics
from vc.watcher.outbox import Publisher


async def watch_of(context: Context, kind: Kind, config: Config | None = None) -> KindWatch:
    """On the kind's topic as it is now; nobody is there who would have to be told of progress."""
    watch = KindWatch(
        context,
        config or Config(),
        index=Index(kind, stamp=Stamp(incarnation="alone", epoch=1)),
        publisher=Publisher(context, may_write=lambda: True),
        metrics=WatcherMetrics(context.metrics),
        end_offsets=await context.bus.end_offsets(kind.topic),
    )
    watch.progress_published(watch.progress(1))
    return watch
