"""Whose pods are ours, as several services read it."""

import pytest

from vc_admission.config import Config as AdmissionConfig
from vc_dashboard.config import Config as DashboardConfig
from vc_job_controller.config import Config as JobConfig
from vc_model.scheduler_names import scheduler_names
from vc_podgroup_controller.config import Config as PodGroupConfig
from vc_queue_controller.config import Config as QueueConfig
from vc_scheduler.config import Config as SchedulerConfig


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("", ("volcano",)),
        (" , ", ("volcano",)),
        ("mine", ("mine",)),
        ("mine, volcano,", ("mine", "volcano")),
        ("b,a,b", ("b", "a")),
    ],
)
def test_every_service_reads_the_same(given: str, names: tuple[str, ...]) -> None:
    env = {"SCHEDULER_NAMES": given, "ADMISSION_SCHEDULER_NAMES": given}
    assert scheduler_names(env) == names
    assert SchedulerConfig.from_env(env).scheduler_names == names
    assert JobConfig.from_env(env).scheduler_name == names[0]
    assert QueueConfig.from_env(env).scheduler_names == names
    assert DashboardConfig.from_env(env).scheduler_names == names
    assert AdmissionConfig.from_env(env).settings.scheduler_names == names
    assert PodGroupConfig.from_env(env).scheduler_names == set(names)


def test_without_the_key_it_is_volcano() -> None:
    assert scheduler_names({}) == ("volcano",)
