"""Whose pods are ours, as several services read it."""

import pytest

from tests.builders.contexts import memory_context
from vc.admission.config import Config as AdmissionConfig
from vc.cli.pyroclast.services import SERVICES, build_of
from vc.cli.pyroclast.stack.plan import keys_of
from vc.dashboard.config import Config as DashboardConfig
from vc.job_controller.config import Config as JobConfig
from vc.model.scheduler_names import scheduler_names
from vc.podgroup_controller.config import Config as PodGroupConfig
from vc.scheduler.config import Config as SchedulerConfig
from vc.usage_ledger.config import Config as UsageConfig


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
    assert UsageConfig.from_env(env).scheduler_names == names
    assert DashboardConfig.from_env(env).scheduler_names == names
    assert AdmissionConfig.from_env(env).settings.scheduler_names == names
    assert PodGroupConfig.from_env(env).scheduler_names == set(names)


def test_in_one_process_every_service_reads_it_as_it_does_in_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SCHEDULER_NAMES", "mine, volcano")
    built = {
        name: build_of(name)(memory_context(name))._config  # type: ignore[attr-defined]
        for name in SERVICES
        if "SCHEDULER_NAMES" in keys_of(name)
    }
    assert built.pop("job-controller").scheduler_name == "mine"
    assert sorted(built) == ["dashboard", "podgroup-controller", "scheduler", "usage-ledger"]
    assert all(set(config.scheduler_names) == {"mine", "volcano"} for config in built.values())


def test_without_the_key_it_is_volcano() -> None:
    assert scheduler_names({}) == ("volcano",)
