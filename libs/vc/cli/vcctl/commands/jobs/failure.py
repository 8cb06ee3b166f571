"""Why a job failed: the first failed container, the number of retries and its last log lines.

Everything is read from the API server with the user's own permissions. If the log cannot be read,
the output says so.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from vc.cli.tables import printable
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.errors import CtlError
from vc.cli.vcctl.api.resources import PODS, JsonObject, metadata, spec, status

FAILED: Final = "Failed"
LOG_LINES: Final = 10
MAX_RETRY_DEFAULT: Final = 3
_JOB_LABEL: Final = "volcano.sh/job-name"
_INDENT: Final = " " * 11


class Ended(NamedTuple):
    """A container that ended with an error."""

    finished_at: str
    pod: str
    container: str
    exit_code: int
    reason: str


def failure_lines(client: Client, job: JsonObject) -> Iterator[str]:
    """Lines for the user, the first failure first."""
    found = metadata(job)
    namespace, name = str(found.get("namespace", "")), str(found.get("name", ""))
    query = {"labelSelector": f"{_JOB_LABEL}={name}"}
    pods, _ = client.list(PODS, namespace=namespace, query=query)
    # By uid, because pods of a deleted job with the same name may still exist.
    owned = [pod for pod in pods if _is_owned(pod, str(found.get("uid", "")))]
    # Ended is ordered by its finishing time first, so the first entry is the first failure.
    ended = sorted(end for pod in owned for end in _ended(pod))
    if ended:
        first = ended[0]
        reason = f" ({printable(first.reason)})" if first.reason else ""
        at = f" at {first.finished_at}" if first.finished_at else ""
        yield (
            f"failed:    pod {first.pod}, container {first.container!r}: "
            f"exit code {first.exit_code}{reason}{at}"
        )
        # Pods are counted, not containers: a pod with several failed containers counts once.
        others = len({end.pod for end in ended} - {first.pod})
        if others:
            yield f"{_INDENT}then {others} other {'pod' if others == 1 else 'pods'} failed"
    else:
        yield "failed:    none of its pods that exist now ended with an error"
    tried = status(job).get("retryCount", 0)
    allowed = spec(job).get("maxRetry", MAX_RETRY_DEFAULT)
    yield f"retries:   {tried} of at most {allowed} (maxRetry)"
    if ended:
        yield from _log_lines(client, namespace, ended[0])


def _is_owned(pod: JsonObject, uid: str) -> bool:
    owners = metadata(pod).get("ownerReferences") or []
    return any(owner.get("uid") == uid for owner in owners)


def _ended(pod: JsonObject) -> Iterator[Ended]:
    """The containers that ended with a non-zero exit code, including containers that were
    restarted.
    """
    name, found = str(metadata(pod).get("name", "")), status(pod)
    containers = [
        *(found.get("initContainerStatuses") or []),
        *(found.get("containerStatuses") or []),
    ]
    for container in containers:
        # A container that was restarted has its failure in lastState only.
        for key in ("state", "lastState"):
            end = (container.get(key) or {}).get("terminated") or {}
            if end.get("exitCode"):
                yield Ended(
                    str(end.get("finishedAt") or ""),
                    name,
                    str(container.get("name", "")),
                    int(end["exitCode"]),
                    str(end.get("reason") or ""),
                )
    # A pod can fail before any container starts, for example when the node rejects it.
    if not containers and found.get("phase") == FAILED:
        yield Ended("", name, "", 1, str(found.get("reason") or "no container status"))


def _log_lines(client: Client, namespace: str, ended: Ended) -> Iterator[str]:
    path = f"{PODS.path(namespace, ended.pod)}/log"
    # A pod that failed before any container started has no container name.
    query = {"tailLines": str(LOG_LINES)} | (
        {"container": ended.container} if ended.container else {}
    )
    try:
        lines = client.text(path, query=query).splitlines()
    except CtlError as error:
        yield f"log:       cannot be read: {error}"
        return
    if not lines:
        yield "log:       it wrote nothing"
        return
    yield f"log:       the last {len(lines)} lines of pod {ended.pod}"
    for line in lines:
        yield f"{_INDENT}{printable(line)}"
