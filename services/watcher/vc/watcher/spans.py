"""The span `watch`: from the creation of a job until its fact is on the bus.

The span of a job is exported when its fact was acknowledged. If the watcher stopped in between, the
next one finds the fact on the topic, so it also exports spans of existing jobs while they are
young. The time of the publish is unknown then, but the first condition of the job shows that
another service had already acted on it. That time has a resolution of one second and comes from
another clock, so it can be before the creation of the job.
"""

from typing import Final

from vc.messages.trace import WATCH_SPAN
from vc.model.api.job import Job
from vc.model.values.times import parse_time
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.tracing import Span, SpanReporter

YOUNG_SECONDS: Final = 60.0
"""Maximum age of a job with conditions; an earlier watcher exported the span of an older one."""


class JobSpans:
    """Exports the span of each job once per term."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._reporter = SpanReporter(context.tracer)

    def wants(self, job: Job) -> bool:
        """Whether the span of this job still has to be exported."""
        if not self._reporter.enabled or self._reporter.has_reported(job.metadata.uid, WATCH_SPAN):
            return False
        created = parse_time(job.metadata.creation_timestamp)
        if created is None:
            return False
        return not job.status.conditions or self._clock.wall() - created < YOUNG_SECONDS

    def published(self, job: Job) -> None:
        """Export the span, after the bus acknowledged the fact of the job."""
        now = self._clock.wall()
        times = [parse_time(condition.last_transition_time) for condition in job.status.conditions]
        acted_at = min((at for at in times if at is not None), default=now)
        created = parse_time(job.metadata.creation_timestamp) or now
        self._reporter.report(
            Span(
                job.metadata.uid,
                WATCH_SPAN,
                started=created,
                ended=max(created, min(now, acted_at)),
                attributes={"job": job.key, "queue": job.spec.queue},
            ),
        )
