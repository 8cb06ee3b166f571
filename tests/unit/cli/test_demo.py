"""`pyroclast demo`: what it shows of a job, in whatever namespace it is."""

from pathlib import Path

import pytest

from vc.cli.pyroclast.demo import Watched, run_demo
from vc.model.api.job import Job, JobState, JobStatus

MANIFEST = """\
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: far, namespace: team}
spec:
  minAvailable: 1
  tasks:
  - name: main
    replicas: 1
    template:
      metadata: {annotations: {sim.pyroclast.io/run-seconds: "0.1"}}
      spec:
        restartPolicy: Never
        containers: [{name: main, image: busybox}]
"""


def job(phase: str) -> Job:
    return Job(status=JobStatus(state=JobState(phase=phase)))


def watched() -> Watched:
    return Watched(namespace="default", name="a", queue="default", pods=2, submitted_at=10.0)


def test_waiting_and_running_times_are_measured() -> None:
    shown = watched()
    assert shown.row(12.0) == ("a", "default", "Pending", "2", "2.0s", "-")
    assert shown.take(job("Running"), 13.0)
    assert not shown.take(job("Running"), 14.0)
    assert shown.row(15.0) == ("a", "default", "Running", "2", "3.0s", "2.0s")
    assert shown.take(job("Completed"), 16.0)
    assert shown.row(99.0) == ("a", "default", "Completed", "2", "3.0s", "3.0s")


def test_a_job_that_was_never_seen_running_still_has_a_start() -> None:
    shown = watched()
    shown.take(job("Completed"), 13.0)
    assert shown.row(99.0)[-2:] == ("3.0s", "0.0s")


@pytest.mark.timeout(120)
async def test_a_job_outside_the_default_namespace_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("PYROCLAST_API_PORT", "PYROCLAST_DASHBOARD_PORT", "PYROCLAST_METRICS_PORT"):
        monkeypatch.setenv(name, "0")
    manifest = tmp_path / "job.yaml"
    manifest.write_text(MANIFEST)
    assert await run_demo(home=tmp_path / "home", manifests=[manifest]) == 0
    assert "far: Completed" in capsys.readouterr().out
