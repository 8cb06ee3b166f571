"""What admission would have filled in, when there is none."""

from typing import cast

import pytest

from tests.unit.job_controller.builders import NOW, job, observed, podgroup
from vc.job_controller.config import Config
from vc.job_controller.logic import decide
from vc.job_controller.logic.observation import observe
from vc.job_controller.plugin_requests import PluginRequests
from vc.messages.effects import CreateObject
from vc.model.api.kinds import PODS
from vc.model.api.struct import JsonObject


@pytest.mark.parametrize(
    ("written", "given"), [("", "mine"), ("volcano", "volcano"), ("other", "other")]
)
def test_pods_name_the_first_of_our_schedulers_unless_the_job_names_one(
    written: str, given: str
) -> None:
    config = Config.from_env({"SCHEDULER_NAMES": "mine,volcano"})
    of = job("Pending", scheduler_name=written)
    seen = observed(of, podgroup=podgroup("Inqueue"), scheduler_name=config.scheduler_name)
    made = [
        cast("JsonObject", effect.body["spec"])["schedulerName"]
        for effect in decide(seen, now=NOW).effects
        if isinstance(effect, CreateObject) and effect.kind is PODS
    ]
    assert made == [given, given]


def test_answers_of_plugins_are_about_the_job_as_it_is_defaulted_here() -> None:
    of = job("Pending")
    asked = PluginRequests("mine").hash_of(of.key, of)
    assert asked == observe(observed(of, scheduler_name="mine")).hash
    assert asked != observe(observed(of)).hash
