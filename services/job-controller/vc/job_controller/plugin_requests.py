"""Requests to plugins and their replies, per job. They are kept only in memory.

Losing them costs one more request: missing answers are requested again.
"""

import msgspec

from vc.job_controller.logic.observation import hash_of
from vc.job_controller.logic.observed import RequestAge
from vc.jobs.defaults import with_defaults
from vc.messages.plugins import PluginReply, PluginRequest
from vc.model.api.job import Job, JobSpec


class _Request(msgspec.Struct):
    spec_hash: str
    first_at: float
    last_at: float


class _JobRequests(msgspec.Struct):
    spec: JobSpec | None = None
    spec_hash: str = ""
    requests: dict[tuple[str, str], _Request] = {}
    replies: dict[str, PluginReply] = {}


class PluginRequests:
    """Requests and replies by the key of the job."""

    def __init__(self, scheduler_name: str) -> None:
        self._scheduler_name = scheduler_name
        self._by_job: dict[str, _JobRequests] = {}

    def hash_of(self, key: str, job: Job) -> str:
        """Hash of the spec that replies must match, computed once per spec."""
        kept = self._by_job.setdefault(key, _JobRequests())
        if kept.spec != job.spec:
            kept.spec = job.spec
            kept.spec_hash = hash_of(with_defaults(job, self._scheduler_name))
        return kept.spec_hash

    def note_request(self, key: str, request: PluginRequest, *, at: float) -> None:
        """Note that a request was published."""
        kept = self._by_job.setdefault(key, _JobRequests())
        sent = kept.requests.get((request.verb, request.plugin))
        # A repeated request keeps its first time, from which a late reply is counted.
        if sent is not None and sent.spec_hash == request.spec_hash:
            sent.last_at = at
        else:
            kept.requests[request.verb, request.plugin] = _Request(request.spec_hash, at, at)

    def round_trip(self, reply: PluginReply, *, now: float) -> float | None:
        """Seconds since the first request, for the first reply to it; None for any other reply."""
        kept = self._by_job.get(reply.job_key)
        sent = kept.requests.get((reply.verb, reply.plugin)) if kept is not None else None
        if kept is None or sent is None or sent.spec_hash != reply.spec_hash:
            return None
        # A repeated reply has no round trip: the plugin replied before.
        known = kept.replies.get(reply.plugin)
        if known is not None and (known.verb, known.spec_hash) == (reply.verb, reply.spec_hash):
            return None
        return now - sent.first_at

    def note_reply(self, reply: PluginReply) -> bool:
        """Store a reply. Returns whether its job is known here."""
        kept = self._by_job.get(reply.job_key)
        if kept is None:
            return False
        kept.replies[reply.plugin] = reply
        return True

    def replies(self, key: str) -> dict[str, PluginReply]:
        """The newest reply of each plugin."""
        kept = self._by_job.get(key)
        return dict(kept.replies) if kept else {}

    def open_requests(self, key: str, *, now: float) -> dict[tuple[str, str], RequestAge]:
        """Requests about the current spec. `now` is monotonic."""
        kept = self._by_job.get(key)
        if kept is None:
            return {}
        return {
            request: RequestAge(now - sent.first_at, now - sent.last_at)
            for request, sent in kept.requests.items()
            if sent.spec_hash == kept.spec_hash
        }

    def forget(self, key: str) -> None:
        """Drop the state of a job that is gone or belongs to another replica now."""
        self._by_job.pop(key, None)
