"""spec.volumes: claims of a job are created once and mounted."""

from tests.unit.job_controller.builders import (
    NOW,
    job,
    observed,
    pod,
    podgroup,
)
from vc.job_controller.logic import decide
from vc.messages.effects import CreateObject
from vc.model.api.job import VolumeSpec
from vc.model.api.kinds import CLAIMS, PODS


def test_claims_are_made_once_before_the_first_pod_and_mounted() -> None:
    of = job("Pending", volumes=[VolumeSpec(mount_path="/data", volume_claim={"resources": {}})])
    decision = decide(observed(of, podgroup=podgroup()), now=NOW)
    kinds = [e.kind for e in decision.effects if isinstance(e, CreateObject)]
    assert kinds == [CLAIMS, PODS, PODS]
    made = [e for e in decision.effects if isinstance(e, CreateObject)]
    claim = made[1].body["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert claim == made[0].name
    later = decide(observed(of, pod(0), podgroup=podgroup()), now=NOW)
    assert CLAIMS not in [e.kind for e in later.effects if isinstance(e, CreateObject)]
