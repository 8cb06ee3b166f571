"""The one setting of compatibility: what may be written, what each service makes of it."""

import logging
from collections.abc import Callable, Mapping

import pytest

from vc.admission.config import Config as AdmissionConfig
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.plan import Addresses, environment_of
from vc.dashboard.config import Config as DashboardConfig
from vc.job_controller.config import Config as JobControllerConfig
from vc.jobplugin.config import PluginConfig
from vc.model.compat import Compat, compat_warning, read_compat
from vc.runtime.hosting.main import check_compat
from vc.scheduler.config import Config as SchedulerConfig
from vc.scheduling.conf.model import Conf

READERS: dict[str, Callable[[Mapping[str, str]], Compat]] = {
    "admission": lambda env: AdmissionConfig.from_env(env).settings.compat,
    "dashboard": lambda env: DashboardConfig.from_env(env).compat,
    "job-controller": lambda env: JobControllerConfig.from_env(env).compat,
    "plugins": lambda env: PluginConfig.from_env(env).compat,
}


@pytest.mark.parametrize(
    ("written", "means"),
    [
        (None, Compat.LENIENT),
        ("", Compat.LENIENT),
        ("lenient", Compat.LENIENT),
        ("seeds", Compat.LENIENT),
        ("upstream", Compat.UPSTREAM),
    ],
)
@pytest.mark.parametrize("service", READERS)
def test_every_service_reads_the_same(written: str | None, means: Compat, service: str) -> None:
    env = {} if written is None else {"PYROCLAST_COMPAT": written}
    assert READERS[service](env) is means


@pytest.mark.parametrize("service", READERS)
def test_another_value_is_refused_with_the_fix(service: str) -> None:
    with pytest.raises(ValueError, match="PYROCLAST_COMPAT='both': write lenient or upstream"):
        READERS[service]({"PYROCLAST_COMPAT": "both"})


def test_the_former_name_warns_once_at_a_start(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="pyroclast")
    check_compat({"PYROCLAST_COMPAT": "seeds"})
    (line,) = caplog.messages
    assert line == compat_warning({"PYROCLAST_COMPAT": "seeds"})
    assert "seeds is deprecated and means lenient; write PYROCLAST_COMPAT=lenient" in line
    caplog.clear()
    for value in ("lenient", "upstream", ""):
        check_compat({"PYROCLAST_COMPAT": value})
    assert caplog.messages == []


def test_a_service_that_does_not_ask_does_not_start_with_a_wrong_value_either() -> None:
    with pytest.raises(ValueError, match="write lenient or upstream"):
        check_compat({"PYROCLAST_COMPAT": "volcano"})


def test_volcanos_default_configuration_evicts_no_pod() -> None:
    upstream = SchedulerConfig.from_env({"PYROCLAST_COMPAT": "upstream"}).conf
    assert upstream.actions == ("enqueue", "allocate", "backfill")
    assert upstream.tiers == Conf().tiers
    assert SchedulerConfig.from_env({}).conf == Conf()


@pytest.mark.parametrize("service", SERVICES)
def test_a_stack_tells_every_service(service: str) -> None:
    addresses = Addresses(kafka="k:1", redis="redis://r", kubeconfig="/k")
    for written, told in (("upstream", "upstream"), ("", "lenient")):
        caller = {"PYROCLAST_COMPAT": written}
        env = environment_of(service, addresses, health_port=1, inherited=caller)
        assert read_compat(env).value == env["PYROCLAST_COMPAT"] == told
