"""What was said between this controller and the plugins, per job. In memory only.

Losing it costs a question: answers are asked for again when they are missing.
"""

import msgspec

from vc_job_controller.logic.defaults import with_defaults
from vc_job_controller.logic.observed import Asked
from vc_job_controller.logic.sight import hash_of
from vc_messages.plugins import PluginReply, PluginRequest
from vc_model.job import Job, JobSpec


class _Question(msgspec.Struct):
    spec_hash: str
    first_at: float
    last_at: float


class _Conversation(msgspec.Struct):
    spec: JobSpec | None = None
    spec_hash: str = ""
    questions: dict[tuple[str, str], _Question] = {}
    answers: dict[str, PluginReply] = {}


class Conversations:
    """Questions and answers by the key of the job."""

    def __init__(self, scheduler_name: str) -> None:
        self._scheduler_name = scheduler_name
        self._by_job: dict[str, _Conversation] = {}

    def hash_of(self, key: str, job: Job) -> str:
        """The hash answers must be about; computed once per spec."""
        talk = self._by_job.setdefault(key, _Conversation())
        if talk.spec != job.spec:
            talk.spec = job.spec
            talk.spec_hash = hash_of(with_defaults(job, self._scheduler_name))
        return talk.spec_hash

    def note_question(self, key: str, request: PluginRequest, *, at: float) -> None:
        """It was published."""
        talk = self._by_job.setdefault(key, _Conversation())
        asked = talk.questions.get((request.verb, request.plugin))
        if asked is not None and asked.spec_hash == request.spec_hash:
            asked.last_at = at
        else:
            talk.questions[request.verb, request.plugin] = _Question(request.spec_hash, at, at)

    def round_trip(self, reply: PluginReply, *, now: float) -> float | None:
        """Seconds since the question that this is the first answer to; None for any other."""
        talk = self._by_job.get(reply.job_key)
        asked = talk.questions.get((reply.verb, reply.plugin)) if talk is not None else None
        if talk is None or asked is None or asked.spec_hash != reply.spec_hash:
            return None
        known = talk.answers.get(reply.plugin)
        if known is not None and (known.verb, known.spec_hash) == (reply.verb, reply.spec_hash):
            return None
        return now - asked.first_at

    def note_answer(self, reply: PluginReply) -> bool:
        """Whether it is about a job we talk about."""
        talk = self._by_job.get(reply.job_key)
        if talk is None:
            return False
        talk.answers[reply.plugin] = reply
        return True

    def answers(self, key: str) -> dict[str, PluginReply]:
        """The newest of each plugin."""
        talk = self._by_job.get(key)
        return dict(talk.answers) if talk else {}

    def asked(self, key: str, *, now: float) -> dict[tuple[str, str], Asked]:
        """Questions about the spec as it is now; `now` is monotonic."""
        talk = self._by_job.get(key)
        if talk is None:
            return {}
        return {
            question: Asked(now - asked.first_at, now - asked.last_at)
            for question, asked in talk.questions.items()
            if asked.spec_hash == talk.spec_hash
        }

    def forget(self, key: str) -> None:
        """The job is gone, or not ours any more."""
        self._by_job.pop(key, None)
