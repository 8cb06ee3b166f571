"""Whole jobs, read from the API server when pods are to be made of them.

The bus carries outlines of templates (`vc_messages.published`). What pods are made of is read by one GET a
job, and kept while there is room: the next pods of the job, and those of a restart, need no other. A job is
believed only if it is the very one that was observed: same uid, same generation, and a spec that gives the
same outline. So neither a job of the same name nor a forged fact decides what runs. Nobody reads ahead:
after a start only jobs that lack pods are read, a few at a time.
"""

import asyncio
from collections import OrderedDict
from typing import Final

import msgspec

from vc_cluster import ClusterError, NotFoundError, TooManyRequestsError
from vc_job_controller.logic import Trouble
from vc_messages.published import published_spec
from vc_model.graft import strip_nulls
from vc_model.job import Job, JobSpec
from vc_model.kinds import JOBS
from vc_model.struct import JsonObject
from vc_runtime.context import Context

READS_AT_ONCE: Final = 8
"""Requests for jobs that are under way at a time, of one replica."""
BYTES_MAX: Final = 16 * 1024 * 1024
"""Of all jobs kept, as JSON; the newest is kept whatever its size."""
JOBS_MAX: Final = 4096


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job could not be read, for the log; for people if they have to mend it."""

    why: str
    retry_after_seconds: float = 0.0
    """As the API server asks; 0 when it does not."""
    rests_seconds: float = 0.0
    """Left of the last failure's backoff: nobody was asked."""
    trouble: Trouble | None = None


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    job: Job
    shown: JobSpec
    """Its spec as it travels."""
    size: int


class Manifests:
    """Those of one replica, the least recently used go first."""

    def __init__(
        self, context: Context, *, bytes_max: int = BYTES_MAX, jobs_max: int = JOBS_MAX
    ) -> None:
        self._context = context
        self._bytes_max = bytes_max
        self._jobs_max = jobs_max
        self._slots = asyncio.Semaphore(READS_AT_ONCE)
        self._read: OrderedDict[str, _Read] = OrderedDict()
        self._rests: dict[str, tuple[float, Unread]] = {}
        """Jobs that could not be read, until when they are not asked for again (monotonic), and why."""
        self._bytes = 0
        """Invariant: the sum over what is kept, and within the bound."""

    def of(self, job: Job) -> Job | None:
        """The job whole, if it was read as it is observed now."""
        known = self._read.get(job.key)
        if known is None or _difference(known, job):
            return None
        self._read.move_to_end(job.key)
        return known.job

    async def read(self, job: Job) -> Unread | None:
        """Read it once; None when `of` has it afterwards."""
        rests_until, why = self._rests.get(job.key, (0.0, None))
        left = rests_until - self._context.clock.monotonic()
        if why is not None and left > 0:
            return msgspec.structs.replace(why, rests_seconds=left)
        self._rests.pop(job.key, None)
        return await self._ask(job)

    def rest(self, key: str, unread: Unread, seconds: float) -> None:
        """Do not ask again before so long: news of the job come at any time."""
        self._rests[key] = (self._context.clock.monotonic() + seconds, unread)

    async def _ask(self, job: Job) -> Unread | None:
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
            told = None if error.temporary else _refused(error.message)
            return Unread(why=error.message, trouble=told)
        except msgspec.ValidationError as error:
            return Unread(why=f"the job cannot be read: {error}", trouble=_refused(str(error)))
        if found.metadata.uid != metadata.uid:
            self._drop(job.key)
            return Unread(why="the job is gone, another one has its name")
        read = _Read(job=found, shown=published_spec(found.spec), size=_size(body))
        self._keep(job.key, read)
        different = _difference(read, job)
        return Unread(why=different) if different else None

    def forget(self, key: str) -> None:
        """The job is gone, or not ours any more."""
        self._rests.pop(key, None)
        self._drop(key)

    def _drop(self, key: str) -> None:
        known = self._read.pop(key, None)
        self._bytes -= known.size if known is not None else 0

    def _keep(self, key: str, read: _Read) -> None:
        self._drop(key)
        self._read[key] = read
        self._bytes += read.size
        while len(self._read) > 1 and (
            self._bytes > self._bytes_max or len(self._read) > self._jobs_max
        ):
            self._drop(next(iter(self._read)))


def _difference(read: _Read, job: Job) -> str:
    """Why what was read is not the job that is observed; empty when it is."""
    ours, theirs = read.job.metadata, job.metadata
    if ours.uid != theirs.uid:
        return "the job is gone, another one has its name"
    if ours.generation != theirs.generation:
        return f"generation {theirs.generation} is observed, the API server has {ours.generation}"
    if read.shown != job.spec:
        return "the job that is observed is not the one at the API server"
    return ""


def _decoded(body: JsonObject) -> Job:
    """As the watcher decodes it: nulls that some clients write where they mean nothing are forgiven."""
    try:
        return msgspec.convert(body, Job)
    except msgspec.ValidationError:
        return msgspec.convert(strip_nulls(body), Job)


def _size(body: JsonObject) -> int:
    return len(msgspec.json.encode(body.get("spec")))


def _refused(why: str) -> Trouble:
    return Trouble("ReadRefused", f"the job's templates cannot be read: {why}")
