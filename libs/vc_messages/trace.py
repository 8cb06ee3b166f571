"""Trace identities derived from a job's uid, so that restarts and duplicates change nothing.

Every service that does something for a job can name the job's trace without being told: the trace
id is a digest of the uid, and so is the id of its root span.
"""

import hashlib
from typing import Final

from vc_messages.partition import vcjob_owner
from vc_model import kinds
from vc_model.meta import ApiObject


def trace_id(job_uid: str) -> str:
    """32 hex digits."""
    return hashlib.sha256(f"trace/{job_uid}".encode()).hexdigest()[:32]


def span_id(job_uid: str, name: str) -> str:
    """16 hex digits; the same step of the same job is the same span."""
    return hashlib.sha256(f"span/{job_uid}/{name}".encode()).hexdigest()[:16]


ROOT_SPAN: Final = "job"
"""The name of the span that all others descend from."""
WATCH_SPAN: Final = "watch"
PODGROUP_SPAN: Final = "podgroup"
PODS_SPAN: Final = "pods"
SESSION_SPAN: Final = "session"
BIND_SPAN: Final = "bind"
START_SPAN: Final = "start"


def plugin_span(plugin: str) -> str:
    """The question to a plugin and its answer."""
    return f"plugin-{plugin}"


def attempt_span(name: str, version: int) -> str:
    """A step of a job's later attempt is another span: the first is `bind`, the next `bind-2`."""
    return name if version == 0 else f"{name}-{version + 1}"


def session_trace(session_id: str) -> str:
    """Stands in a job uid's place for the trace of a scheduling session, which may bind many jobs."""
    return f"session/{session_id}"


def traceparent(job_uid: str, *, span: str = ROOT_SPAN) -> str:
    """The W3C header of a span of the job's trace."""
    return f"00-{trace_id(job_uid)}-{span_id(job_uid, span)}-01"


def traceparent_of(obj: ApiObject) -> str:
    """Of the vcjob, or of whatever a vcjob owns; empty for the rest."""
    if obj.kind == kinds.JOBS.kind and obj.api_version == kinds.JOBS.api_version:
        return traceparent(obj.metadata.uid)
    owner = vcjob_owner(obj)
    return traceparent(owner.uid) if owner is not None else ""
