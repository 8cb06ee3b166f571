"""The span `watch`: from a job's creation until its fact is on the bus.

A job is told when its fact was acknowledged. A watcher that died in between finds the fact on its
topic, so a job that is there already is told too while it is young; when exactly it was published
nobody knows then, but somebody had acted on it by the time of its first condition. That time is cut
to the second and may be late behind the API server's, so it can lie before the job's creation.
"""

from typing import Final

from vc_messages.trace import WATCH_SPAN
from vc_model.job import Job
from vc_model.times import parse_time
from vc_runtime.context import Context
from vc_runtime.tracing import Span, Teller

YOUNG_SECONDS: Final = 60.0
"""A job that others act on already and that is older was told by an earlier watcher."""


class JobSpans:
    """Tells of each job once in a term."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._teller = Teller(context.tracer)

    def wants(self, job: Job) -> bool:
        """Whether this job's publication is still to be told."""
        if not self._teller.enabled or self._teller.has_told(job.metadata.uid, WATCH_SPAN):
            return False
        created = parse_time(job.metadata.creation_timestamp)
        if created is None:
            return False
        return not job.status.conditions or self._clock.wall() - created < YOUNG_SECONDS

    def published(self, job: Job) -> None:
        """The bus has the job's fact."""
        now = self._clock.wall()
        times = [parse_time(condition.last_transition_time) for condition in job.status.conditions]
        acted_at = min((at for at in times if at is not None), default=now)
        created = parse_time(job.metadata.creation_timestamp) or now
        self._teller.tell(
            Span(
                job.metadata.uid,
                WATCH_SPAN,
                started=created,
                ended=max(created, min(now, acted_at)),
                attributes={"job": job.key, "queue": job.spec.queue},
            ),
        )
