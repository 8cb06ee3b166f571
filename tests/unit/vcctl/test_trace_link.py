"""Where a trace can be looked at: the flag, the environment, the cluster, in this order."""

import pytest

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc.cli.vcctl.api.access import find_access
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.dashboard import Place
from vc.cli.vcctl.output.trace_link import VARIABLE, link_of, trace_id
from vc.messages.trace import trace_id as services_trace_id

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


def test_a_release_in_another_namespace_says_it_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    def cluster(asked: Asked) -> Answer:
        path = asked.path.partition("?")[0]
        if path == "/api/v1/services":
            return answer({"items": [{"metadata": {"namespace": "batch", "name": "d"}}]})
        if path == "/api/v1/namespaces/batch/configmaps/pyroclast-addresses":
            return answer(SAID)
        return refusal(404, "NotFound", "not there")

    with serving(cluster) as (url, asked):
        assert link(url) == "https://traces.example.com/trace/abc"
        client = Client(find_access(master=url, kubeconfig=""))
        asked.clear()
        assert link_of("abc", client, place=Place("batch", "d"))
        assert len(asked) == 1, "a namespace that is named is not looked for"


def test_a_trace_is_called_what_every_service_calls_it() -> None:
    assert trace_id("u-1") == services_trace_id("u-1")
