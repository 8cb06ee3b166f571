"""Requests to plugins and their answers, per job. They are kept only in memory.

Losing them costs one more request: missing answers are requested again.
"""

import msgspec

from vc.job_controller.logic.observation import hash_of
from vc.job_controller.logic.observed import Asked
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
    questions: dict[tuple[str, str], _Request] = {}
    answers: dict[str, PluginReply] = {}


class PluginRequests:
    """Requests and answers by the key of the job."""

    def __init__(self, scheduler_name: str) -> None:
        self._scheduler_name = scheduler_name
        self._by_job: dict[str, _JobRequests] = {}

    def hash_of(self, key: str, job: Job) -> str:
        """Hash of the spec that answers must match, computed once per spec."""
        talk = self._by_job.setdefault(key, _JobRequests())
        if talk.spec != job.spec:
            talk.spec = job.spec
            talk.spec_hash = hash_of(with_defaults(job, self._scheduler_name))
        return talk.spec_hash

    def note_question(self, key: str, request: PluginRequest, *, at: float) -> None:
        """Note that a request was published."""
        talk = self._by_job.setdefault(key, _JobRequests())
        asked = talk.questions.get((request.verb, request.plugin))
        # A repeated request keeps its first time, from which the patience counts.
        if asked is not None and asked.spec_hash == request.spec_hash:
            asked.last_at = at
        else:
            talk.questions[request.verb, request.plugin] = _Request(request.spec_hash, at, at)

    def round_trip(self, reply: PluginReply, *, now: float) -> float | None:
        """Seconds since the first request, for the first answer to it; None for any other reply."""
        talk = self._by_job.get(reply.job_key)
        asked = talk.questions.get((reply.verb, reply.plugin)) if talk is not None else None
        if talk is None or asked is None or asked.spec_hash != reply.spec_hash:
            return None
        # A repeated answer has no round trip: the plugin answered before.
        known = talk.answers.get(reply.plugin)
        if known is not None and (known.verb, known.spec_hash) == (reply.verb, reply.spec_hash):
            return None
        return now - asked.first_at

    def note_answer(self, reply: PluginReply) -> bool:
        """Store a reply. Returns whether its job is known here."""
        talk = self._by_job.get(reply.job_key)
        if talk is None:
            return False
        talk.answers[reply.plugin] = reply
        return True

    def answers(self, key: str) -> dict[str, PluginReply]:
        """The newest reply of each plugin."""
        talk = self._by_job.get(key)
        return dict(talk.answers) if talk else {}

    def asked(self, key: str, *, now: float) -> dict[tuple[str, str], Asked]:
        """Requests about the current spec. `now` is monotonic."""
        talk = self._by_job.get(key)
        if talk is None:
            return {}
        return {
            question: Asked(now - asked.first_at, now - asked.last_at)
            for question, asked in talk.questions.items()
            if asked.spec_hash == talk.spec_hash
        }

    def forget(self, key: str) -> None:
        """Drop the state of a job that is gone or belongs to another replica now."""
        self._by_job.pop(key, None)
