"""Whom vcctl asks when it asks the dashboard, what it shows there, and what it says of an answer."""

from pathlib import Path

import pytest
import yaml

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc_cli.ctl.dashboard import PROXY
from vc_cli.ctl.parser_options import DASHBOARD_VARIABLE
from vc_cli.vcctl import main

SESSIONS = {"sessions": [], "total": 0}
JOB = {"metadata": {"name": "j", "namespace": "default"}, "spec": {}, "status": {}}
ASKING = [
    ["usage"],
    ["queue", "tree"],
    ["session", "list"],
    ["session", "show", "1-1"],
    ["session", "replay", "1-1"],
    ["simulate", "--add-nodes", "1"],
]
"""Commands that ask nobody but the dashboard."""


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(DASHBOARD_VARIABLE, raising=False)
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
    assert capsys.readouterr().err == f"{said}--dashboard says to ask there\n"
    monkeypatch.setenv(DASHBOARD_VARIABLE, "http://127.0.0.1:1")
    assert run(*words) == 1
    assert capsys.readouterr().err == f"{said}$PYROCLAST_DASHBOARD_URL says to ask there\n"


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
        "vcctl: you may not ask the dashboard through the API server: services is forbidden "
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
