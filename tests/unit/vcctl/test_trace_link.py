"""Where a trace can be looked at: the flag, the environment, the cluster, in this order."""

import pytest

from tests.unit.vcctl.server import answer, serving
from vc_cli.ctl.client import Client
from vc_cli.ctl.kubeconfig import find_access
from vc_cli.ctl.trace_link import VARIABLE, link_of

SAID = {"data": {"trace-ui": "https://traces.example.com/"}}


def link(url: str, *, given: str = "") -> str:
    return link_of("abc", Client(find_access(master=url, kubeconfig="")), given=given)


def test_the_flag_goes_before_the_environment_and_that_before_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with serving(lambda _: answer(SAID)) as (url, _):
        assert link(url) == "https://traces.example.com/trace/abc"
        monkeypatch.setenv(VARIABLE, "http://here:16686")
        assert link(url) == "http://here:16686/trace/abc"
        assert link(url, given="http://there/x?id={trace_id}") == "http://there/x?id=abc"


@pytest.mark.parametrize("code", [403, 404])
def test_who_is_not_told_has_no_link(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with serving(lambda _: answer({"message": "no"}, code=code)) as (url, _):
        assert link(url) == ""
