"""Whole jobs, read from the API server when pods are to be created from them.

The bus carries outlines of templates (`vc.messages.published`). The content of pods is read by one
GET per job and cached within bounds, so later pods of the job and restarts need no second GET. A
job is trusted only if it is the observed one: same uid, same generation, and a spec with the same
outline. So neither a job of the same name nor a forged fact determines what runs. Nothing is read
in advance: after a start only jobs that lack pods are read, a few at a time.
"""

import asyncio
from collections import OrderedDict
from typing import Final

import msgspec

from vc.cluster import ClusterError, NotFoundError, TooManyRequestsError
from vc.job_controller.logic import Blocker
from vc.messages.published import published_spec
from vc.model.api.graft import strip_nulls
from vc.model.api.job import Job, JobSpec
from vc.model.api.kinds import JOBS
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Context

READS_AT_ONCE: Final = 8
"""Concurrent requests for jobs, per replica."""
BYTES_MAX: Final = 16 * 1024 * 1024
"""Limit of all cached jobs, as JSON. The newest is kept whatever its size."""
JOBS_MAX: Final = 4096


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job could not be read, for the log, and as a blocker if a user has to fix it."""

    why: str
    retry_after_seconds: float = 0.0
    """Retry-After of the API server, or 0."""
    backoff_seconds: float = 0.0
    """Remaining backoff after the last failure. No request was sent."""
    blocker: Blocker | None = None


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    job: Job
    shown: JobSpec
    """The published form of its spec."""
    size: int


class Manifests:
    """The cached jobs of one replica, with least-recently-used eviction."""

    def __init__(
        self, context: Context, *, bytes_max: int = BYTES_MAX, jobs_max: int = JOBS_MAX
    ) -> None:
        self._context = context
        self._bytes_max = bytes_max
        self._jobs_max = jobs_max
        self._slots = asyncio.Semaphore(READS_AT_ONCE)
        self._read: OrderedDict[str, _Read] = OrderedDict()
        self._backoffs: dict[str, tuple[float, Unread]] = {}
        """Jobs that could not be read: when the next request is allowed
        (monotonic), and why it failed."""
        self._bytes = 0
        """Invariant: the sum over the cached jobs, within the limit."""

    def of(self, job: Job) -> Job | None:
        """The whole job, if it was read in its observed state."""
        known = self._read.get(job.key)
        if known is None or _difference(known, job):
            return None
        self._read.move_to_end(job.key)
        return known.job

    async def read(self, job: Job) -> Unread | None:
        """Read the job once. After None is returned, `of` returns the job."""
        # Every change of the job leads here, and each would send a request without this pause.
        backoff_until, why = self._backoffs.get(job.key, (0.0, None))
        left = backoff_until - self._context.clock.monotonic()
        if why is not None and left > 0:
            return msgspec.structs.replace(why, backoff_seconds=left)
        self._backoffs.pop(job.key, None)
        return await self._get(job)

    def rest(self, key: str, unread: Unread, seconds: float) -> None:
        """Send no request for the given time. Without this, every
        change of the job would cause one."""
        self._backoffs[key] = (self._context.clock.monotonic() + seconds, unread)

    async def _get(self, job: Job) -> Unread | None:
        metadata = job.metadata
        try:
            async with self._slots:
                body = await self._context.cluster.get(
                    JOBS, name=metadata.name, namespace=metadata.namespace
                )
            found = _decoded(body)
        except NotFoundError:
            self._drop(job.key)
            return Unread(why="the job is gone")
        except TooManyRequestsError as error:
            return Unread(why=error.message, retry_after_seconds=error.retry_after_seconds)
        except ClusterError as error:
            blocker = None if error.temporary else _refused(error.message)
            return Unread(why=error.message, blocker=blocker)
        except msgspec.ValidationError as error:
            return Unread(why=f"the job cannot be read: {error}", blocker=_refused(str(error)))
        # Templates of another job of this name must never be used.
        if found.metadata.uid != metadata.uid:
            self._drop(job.key)
            return Unread(why="the job is gone, another one has its name")
        read = _Read(job=found, shown=published_spec(found.spec), size=_size(body))
        # It is kept even if it differs: the view may be behind, and `of` compares again.
        self._keep(job.key, read)
        different = _difference(read, job)
        return Unread(why=different) if different else None

    def forget(self, key: str) -> None:
        """Drop the state of a job that is gone or belongs to another replica now."""
        self._backoffs.pop(key, None)
        self._drop(key)

    def _drop(self, key: str) -> None:
        known = self._read.pop(key, None)
        self._bytes -= known.size if known is not None else 0

    def _keep(self, key: str, read: _Read) -> None:
        self._drop(key)
        self._read[key] = read
        self._bytes += read.size
        # The newest is kept whatever its size, or its pods could never be created.
        while len(self._read) > 1 and (
            self._bytes > self._bytes_max or len(self._read) > self._jobs_max
        ):
            self._drop(next(iter(self._read)))


def _difference(read: _Read, job: Job) -> str:
    """Why the job that was read is not the observed one, or empty if it is."""
    ours, theirs = read.job.metadata, job.metadata
    if ours.uid != theirs.uid:
        return "the job is gone, another one has its name"
    if ours.generation != theirs.generation:
        return f"generation {theirs.generation} is observed, the API server has {ours.generation}"
    if read.shown != job.spec:
        return "the job that is observed is not the one at the API server"
    return ""


def _decoded(body: JsonObject) -> Job:
    """Decode a job as the watcher does: meaningless nulls that some clients write are removed."""
    try:
        return msgspec.convert(body, Job)
    except msgspec.ValidationError:
        return msgspec.convert(strip_nulls(body), Job)


def _size(body: JsonObject) -> int:
    return len(msgspec.json.encode(body.get("spec")))


def _refused(why: str) -> Blocker:
    return Blocker("ReadRefused", f"the job's templates cannot be read: {why}")
