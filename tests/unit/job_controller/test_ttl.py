"""ttlSecondsAfterFinished: a finished job is deleted when its time is over."""

import pytest

from tests.unit.job_controller.builders import (
    NOW,
    job,
    observed,
)
from vc.job_controller.logic import decide
from vc.messages.effects import DeleteObject
from vc.model.api.kinds import JOBS


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated", "Aborted"])
def test_a_finished_job_is_deleted_after_its_ttl(phase: str) -> None:
    early = job(phase, since=NOW - 10, ttl_seconds_after_finished=60)
    waiting = decide(observed(early), now=NOW)
    assert waiting.wake_after_seconds == 50
    late = job(phase, since=NOW - 60, ttl_seconds_after_finished=60)
    gone = [e for e in decide(observed(late), now=NOW).effects if isinstance(e, DeleteObject)]
    assert [(e.kind, e.uid, e.propagation) for e in gone] == [(JOBS, "job-1", "Foreground")]
