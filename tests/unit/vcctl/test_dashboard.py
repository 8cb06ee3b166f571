"""Whom vcctl asks when it asks the dashboard, what it shows there, and what it says of an answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.dashboard import PROXY, TOKEN_VARIABLE, Place
from vc.cli.vcctl.main import main
from vc.cli.vcctl.parser_options import DASHBOARD_VARIABLE
from vc.kubeconfig.access import Access

SESSIONS = {"sessions": [], "total": 0}
JOB = {"metadata": {"name": "j", "namespace": "default"}, "spec": {}, "status": {}}
ASKING = [
    ["usage"],
    ["queue", "tree"],
    ["queue", "waiting"],
    ["session", "list"],
    ["session", "show", "1-1"],
    ["session", "replay", "1-1"],
    ["simulate", "--add-nodes", "1"],
]
"""Commands that ask nobody but the dashboard."""


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(DASHBOARD_VARIABLE, raising=False)
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


def kubeconfig(folder: Path, server: str) -> str:
    """One with a token and a password, neither of which may go astray."""
    path = folder / "kubeconfig"
    user = {"token": "secret", "username": "me", "password": "secret"}
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_without_an_address_the_api_server_passes_it_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda _: answer(SESSIONS)) as (url, asked):
        assert run("session", "list", "-k", kubeconfig(tmp_path, url)) == 0
    assert [one.path for one in asked] == [f"{PROXY}/api/v1/sessions?limit=20"]
    assert asked[0].authorization == "Bearer secret"
    assert capsys.readouterr().out == "No resources found\n"


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_the_flag_stands_before_or_after_the_command(tmp_path: Path, before: bool) -> None:
    with serving(lambda _: answer(SESSIONS)) as (url, asked):
        given = ["--dashboard", f"{url}/below/", "-k", kubeconfig(tmp_path, "http://127.0.0.1:1")]
        command = ["session", "list"]
        assert run(*(given + command if before else command + given)) == 0
    assert [one.path for one in asked] == ["/below/api/v1/sessions?limit=20"]


def test_an_address_is_shown_no_credentials_and_needs_no_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(lambda _: answer(SESSIONS)) as (url, asked):
        monkeypatch.setenv(DASHBOARD_VARIABLE, url)
        assert run("session", "list") == 0
        assert run("simulate", "--add-nodes", "2", "-n", "ml") == 0
    assert [(one.method, one.path) for one in asked] == [
        ("GET", "/api/v1/sessions?limit=20"),
        ("POST", "/api/v1/what-if"),
    ]
    assert {one.authorization for one in asked} == {""}


def test_explain_shows_the_token_to_the_api_server_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda _: answer(JOB)) as (server, of_server):
        detail = answer({"explanation": None, "group": {"message": "said there"}})
        with serving(lambda _: detail) as (url, of_dashboard):
            config = kubeconfig(tmp_path, server)
            assert run("job", "explain", "j", "-k", config, "--dashboard", url) == 0
    assert [one.authorization for one in of_server] == ["Bearer secret"]
    assert [(one.path, one.authorization) for one in of_dashboard] == [
        ("/api/v1/jobs/default/j", "")
    ]
    assert "said there" in capsys.readouterr().out


def test_the_flag_counts_more_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DASHBOARD_VARIABLE, "http://127.0.0.1:1")
    with serving(lambda _: answer(SESSIONS)) as (url, _):
        assert run("session", "list", "--dashboard", url) == 0


# -- when it does not answer -----------------------------------------------------------------------


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_an_address_where_nobody_is_is_named(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "vcctl: cannot reach the dashboard at http://127.0.0.1:1: Connection refused; "
    assert run("--dashboard", "http://127.0.0.1:1", *words) == 1
    assert capsys.readouterr().err == f"{said}its address is from --dashboard\n"
    monkeypatch.setenv(DASHBOARD_VARIABLE, "http://127.0.0.1:1")
    assert run(*words) == 1
    assert capsys.readouterr().err == f"{said}its address is from $PYROCLAST_DASHBOARD_URL\n"


def test_explain_says_what_it_can_when_nobody_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def cluster(asked: Asked) -> Answer:
        return answer({"items": []} if asked.path.partition("?")[0].endswith("groups") else JOB)

    with serving(cluster) as (server, _):
        words = ["job", "explain", "j", "-k", kubeconfig(tmp_path, server)]
        assert run(*words, "--dashboard", "http://127.0.0.1:1") == 0
        shown = capsys.readouterr().out
        assert "note:      cannot reach the dashboard at http://127.0.0.1:1" in shown
        assert "its pod group does not exist yet" in shown
        assert run(*words, "--dashboard", "http://127.0.0.1:1", "-o", "json") == 1
        assert "cannot reach the dashboard at http://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (answer({"error": "session '1-1' is gone"}, code=404), "vcctl: session '1-1' is gone\n"),
        ((404, b"404 page not found"), "vcctl: {url} answered 404 Not Found\n"),
        ((502, b"<html>bad gateway"), "vcctl: {url} answered 502 Bad Gateway\n"),
        ((200, b"<html>"), "vcctl: {url} does not speak JSON\n"),
        (
            refusal(403, "Forbidden", "not you"),
            "vcctl: --dashboard leads to an API server, not to the dashboard: not you\n",
        ),
    ],
)
def test_what_is_there_says_no(
    said: Answer, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda _: said) as (url, _):
        assert run("session", "show", "1-1", "--dashboard", url) == 1
    assert capsys.readouterr().err == shown.format(url=url)


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_who_may_not_use_the_proxy_is_told_of_the_address(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda _: refusal(403, "Forbidden", "services is forbidden")) as (url, _):
        assert run(*words, "-k", kubeconfig(tmp_path, url)) == 1
    error = capsys.readouterr().err
    assert error.startswith(
        "vcctl: you have no permission to use the dashboard through the API server: services is forbidden "
    )
    assert "--dashboard, $PYROCLAST_DASHBOARD_URL" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8080",
        "dashboard",
        "ftp://host",
        "http://",
        "http://h:p",
        "http://h?x",
        "http://h#x",
    ],
)
def test_an_address_that_is_none_is_said(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("usage", "--dashboard", url) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"vcctl: --dashboard: {url!r} is not the address of a dashboard; ")


def test_a_password_in_an_address_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(DASHBOARD_VARIABLE, "http://me:secret@127.0.0.1:1")
    assert run("usage") == 2
    error = capsys.readouterr().err
    assert "without user and password" in error
    assert "secret" not in error


# -- a release of another name ---------------------------------------------------------------------

ELSEWHERE = Place("batch", "pyro-dashboard")


def cluster_of(*places: Place, labels: bool = True) -> Callable[[Asked], Answer]:
    """An API server whose dashboards are these; `labels`: who asks may list services."""

    def answers(asked: Asked) -> Answer:
        path = asked.path.partition("?")[0]
        if any(path.startswith(f"{place.proxy}/") for place in places):
            return answer(SESSIONS)
        if path == "/api/v1/services":
            assert "part-of%3Dpyroclast" in asked.path
            items = [{"metadata": place._asdict()} for place in places]
            return answer({"items": items}) if labels else refusal(403, "Forbidden", "may not list")
        return refusal(404, "NotFound", 'services "volcano-dashboard" not found')

    return answers


@pytest.mark.parametrize("where", ["flag", "environment"])
def test_a_service_may_be_named(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = "batch/pyro-dashboard"
    with serving(cluster_of(ELSEWHERE, labels=False)) as (url, asked):
        words = ["session", "list", "-k", kubeconfig(tmp_path, url)]
        if where == "flag":
            words += ["--dashboard", named]
        else:
            monkeypatch.setenv(DASHBOARD_VARIABLE, named)
        assert run(*words) == 0
    assert [one.path.partition("?")[0] for one in asked] == [f"{ELSEWHERE.proxy}/api/v1/sessions"]
    assert asked[0].authorization == "Bearer secret", "it is asked through the API server"


def test_a_service_that_nobody_names_is_found_by_the_charts_labels(tmp_path: Path) -> None:
    with serving(cluster_of(ELSEWHERE)) as (url, asked):
        assert run("session", "list", "-k", kubeconfig(tmp_path, url)) == 0
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("places", "labels", "said"),
    [
        pytest.param((), True, "is the service volcano-dashboard in volcano-system", id="none"),
        pytest.param((ELSEWHERE,), False, "NAMESPACE/NAME", id="none that one may see"),
        pytest.param(
            (ELSEWHERE, Place("other", "d")),
            True,
            "several carry its labels: batch/pyro-dashboard, other/d",
            id="more than one",
        ),
    ],
)
def test_a_service_that_cannot_be_found_is_said(
    places: tuple[Place, ...],
    labels: bool,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving(cluster_of(*places, labels=labels)) as (url, _):
        assert run("session", "list", "-k", kubeconfig(tmp_path, url)) == 1
    error = capsys.readouterr().err
    assert error.startswith("vcctl: the dashboard does not answer: ")
    assert said in error
    assert error.count("\n") == 1


def test_a_named_service_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(cluster_of(ELSEWHERE)) as (url, asked):
        assert run("usage", "-k", kubeconfig(tmp_path, url), "--dashboard", "a/b") == 1
    assert "is the service b in a running?" in capsys.readouterr().err
    assert len(asked) == 1, "nobody looks for another than the named one"


# -- what is known is not given up -----------------------------------------------------------------


def half_known(asked: Asked) -> Answer:
    """The reason is there; what takes a trial is not."""
    if asked.path.endswith("/explanation"):
        return answer({"error": "too many ask at once"}, code=503)
    if "/proxy/" in asked.path:
        reason = {"stage": "quota", "code": "full", "sentence": "its queue is full"}
        return answer({"explanation": reason, "position": 2})
    return answer(JOB)


def test_explain_keeps_the_reason_when_the_trial_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(half_known) as (url, _):
        assert run("job", "explain", "j", "-k", kubeconfig(tmp_path, url)) == 0
    shown = capsys.readouterr().out
    assert "stage:     quota" in shown
    assert "its queue is full" in shown
    assert ", position 2" in shown
    assert "is not known: the dashboard says: too many ask at once" in " ".join(shown.split())
    assert "PodGroup's condition" not in shown


def test_explain_as_json_keeps_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(half_known) as (url, _):
        assert run("job", "explain", "j", "-o", "json", "-k", kubeconfig(tmp_path, url)) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["explanation"]["stage"] == "quota"
    assert "too many ask at once" in shown.err


def test_the_token_goes_on_to_the_dashboard_behind_the_api_server_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda _: answer(SESSIONS)) as (url, asked):
        assert run("session", "list", "-k", kubeconfig(tmp_path, url)) == 0
        assert [each.proxied for each in asked] == ["Bearer secret"]
        asked.clear()
        monkeypatch.setenv(TOKEN_VARIABLE, "for-the-dashboard")
        assert run("session", "list", "-k", kubeconfig(tmp_path, url)) == 0
        assert run("session", "list", "--dashboard", url) == 0
        assert [(each.authorization, each.proxied) for each in asked] == [
            ("Bearer secret", "Bearer for-the-dashboard"),
            ("Bearer for-the-dashboard", ""),
        ]


def test_a_token_is_not_sent_where_others_could_read_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Client(Access(server="http://192.0.2.1:8001", token="secret")).token == ""
    assert Client(Access(server="https://192.0.2.1:6443", token="secret")).token == "secret"
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    assert run("session", "list", "--dashboard", "http://192.0.2.1:8080") == 2
    assert f"${TOKEN_VARIABLE} could be read on the way; use https" in capsys.readouterr().err


def test_a_dashboard_that_wants_a_token_says_how_to_give_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = answer({"error": "this dashboard wants a token"}, code=401)
    with serving(lambda _: refused) as (url, _asked):
        assert run("session", "list", "--dashboard", url) == 1
    said = capsys.readouterr().err
    assert "this dashboard wants a token" in said
    assert TOKEN_VARIABLE in said
