"""`vcctl job explain`: refused writes, checked remedies, pods beyond the minimum, failed jobs."""

from typing import Any

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.commands.jobs.explain import answer as explained
from vc.cli.vcctl.commands.jobs.failure import failure_lines
from vc.cli.vcctl.output.reasons import reason_lines
from vc.kubeconfig.access import Access

REFUSED = "Pod 'j-worker-0': exceeded quota: compute, requested: cpu=4, used: cpu=6, limited: cpu=8"


def job(phase: str, **state: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "j", "namespace": "ml", "uid": "u"},
        "spec": {"queue": "team", "maxRetry": 2},
        "status": {"state": {"phase": phase, **state}, "retryCount": 2},
    }


def reason(**more: Any) -> dict[str, Any]:
    return {"stage": "tasks", "sentence": "0 of the 3 pods that the gang needs exist", **more}


def test_what_the_api_server_refused_is_shown_before_the_schedulers_reason() -> None:
    waiting = job("Pending", reason="WriteRefused", message=REFUSED)
    lines = list(explained(waiting, {"explanation": reason()}))
    refused = next(at for at, line in enumerate(lines) if line.startswith("refused:   Pod"))
    assert "exceeded quota" in lines[refused]
    assert refused < next(at for at, line in enumerate(lines) if line.startswith("stage:"))


def test_a_checked_remedy_replaces_the_proposal() -> None:
    remedy = {
        "checked": True,
        "steps": ["raise the capability of queue 'team' by cpu 4", "add nodes with cpu 2 in all"],
        "basis": "checked: simulated, the job starts within 3s",
        "victims": ["ml/low-0"],
        "victimsTotal": 3,
        "alternatives": ["lower minAvailable to 2"],
    }
    proposed = {"action": "add-room", "amounts": {"cpu": 1000}, "pods": 9}
    text = "\n".join(reason_lines(reason(unblock=proposed), remedy))
    assert "unblock:   raise the capability of queue 'team' by cpu 4" in text
    assert "           and add nodes with cpu 2 in all" in text
    assert "(checked: simulated, the job starts within 3s)" in text
    assert "evicted for it then: ml/low-0 and 2 more" in text
    assert "or: lower minAvailable to 2" in text
    assert "9 more pods" not in text


def test_no_known_remedy_is_said_plainly() -> None:
    remedy = {"steps": [], "basis": "none known: no change starts it"}
    assert "unblock:   none known: no change starts it" in list(reason_lines(reason(), remedy))


def test_a_permanent_reason_says_so() -> None:
    assert "it can never start as things are" in next(iter(reason_lines(reason(permanent=True))))


def test_pods_beyond_the_minimum_are_explained_of_a_running_job() -> None:
    more = {"stage": "gang", "sentence": "2 pods beyond the minimum of 1 wait: 0 of the"}
    lines = list(explained(job("Running"), {"beyondMinimum": more}))
    assert "reason:    2 pods beyond the minimum of 1 wait: 0 of the" in lines


def pod(name: str, *, code: int, at: str, uid: str = "u") -> dict[str, Any]:
    end = {"exitCode": code, "reason": "Error", "finishedAt": at}
    return {
        "metadata": {"name": name, "ownerReferences": [{"uid": uid}]},
        "status": {
            "phase": "Failed",
            "containerStatuses": [{"name": "main", "state": {"terminated": end}}],
        },
    }


PODS = {
    "items": [
        pod("j-worker-1", code=137, at="2026-01-01T00:00:09Z"),
        pod("j-worker-0", code=3, at="2026-01-01T00:00:05Z"),
        pod("namesake", code=1, at="2026-01-01T00:00:01Z", uid="other"),
    ]
}


def failed(log: Answer) -> tuple[list[str], list[Asked]]:
    def answers(asked: Asked) -> Answer:
        return log if "/log" in asked.path else answer(PODS)

    with serving(answers) as (address, asked):
        return list(failure_lines(Client(Access(server=address)), job("Failed"))), asked


def test_a_failed_job_names_pod_exit_code_retries_and_the_last_lines() -> None:
    lines, asked = failed((200, b"epoch 3\nCUDA out of memory\x1b[2J\n"))
    assert lines == [
        "failed:    pod j-worker-0, container 'main': exit code 3 (Error) at 2026-01-01T00:00:05Z",
        "           then 1 other pod failed",
        "retries:   2 of at most 2 (maxRetry)",
        "log:       the last 2 lines of pod j-worker-0",
        "           epoch 3",
        "           CUDA out of memory?[2J",
    ]
    assert asked[-1].path == (
        "/api/v1/namespaces/ml/pods/j-worker-0/log?tailLines=10&container=main"
    )


def test_a_log_that_cannot_be_read_costs_only_itself() -> None:
    lines, _ = failed(refusal(403, "Forbidden", "pods/log is forbidden"))
    assert lines[-1] == "log:       cannot be read: pods/log is forbidden"
