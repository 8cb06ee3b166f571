"""Trace ids derived from a job's uid, so that restarts and duplicates do not change them.

Every service can compute the trace id of a job: the trace id and the id of the root span are
digests of the job's uid.
"""

import hashlib
from typing import Final

from vc.messages.partition import vcjob_owner
from vc.model.api import kinds
from vc.model.api.meta import ApiObject


def trace_id(job_uid: str) -> str:
    """The trace id of a job: 32 hex digits."""
    return hashlib.sha256(f"trace/{job_uid}".encode()).hexdigest()[:32]


def span_id(job_uid: str, name: str) -> str:
    """The span id of a step: 16 hex digits. The same step of the same job is the same span."""
    return hashlib.sha256(f"span/{job_uid}/{name}".encode()).hexdigest()[:16]


ROOT_SPAN: Final = "job"
"""The name of the root span."""
WATCH_SPAN: Final = "watch"
PODGROUP_SPAN: Final = "podgroup"
PODS_SPAN: Final = "pods"
SESSION_SPAN: Final = "session"
BIND_SPAN: Final = "bind"
START_SPAN: Final = "start"


def plugin_span(plugin: str) -> str:
    """The span of a request to a job plugin and its reply."""
    return f"plugin-{plugin}"


def attempt_span(name: str, version: int) -> str:
    """The span name of a step in a later attempt: the first is `bind`, the next `bind-2`."""
    return name if version == 0 else f"{name}-{version + 1}"


def session_trace(session_id: str) -> str:
    """Replaces the job uid in the trace of a scheduling session, which may bind many jobs."""
    return f"session/{session_id}"


def traceparent(job_uid: str, *, span: str = ROOT_SPAN) -> str:
    """The W3C header of a span in the job's trace."""
    return f"00-{trace_id(job_uid)}-{span_id(job_uid, span)}-01"


def traceparent_of(obj: ApiObject) -> str:
    """The traceparent of a vcjob or of an object that a vcjob owns; empty for other objects."""
    if obj.kind == kinds.JOBS.kind and obj.api_version == kinds.JOBS.api_version:
        return traceparent(obj.metadata.uid)
    owner = vcjob_owner(obj)
    return traceparent(owner.uid) if owner is not None else ""
