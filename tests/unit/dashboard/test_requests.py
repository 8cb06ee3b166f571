"""Which requests the dashboard answers: by name, by origin, by type."""

import pytest

from vc.dashboard.config import Config
from vc.dashboard.logic.answers.requests import host_name, is_known_host, refusal

HOSTS = frozenset({"volcano-dashboard", "volcano-dashboard.volcano-system.svc"})
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost", True),
        ("LOCALHOST:8080", True),
        ("127.0.0.1:8080", True),
        ("[::1]:8080", True),
        ("10.0.0.7", True),
        ("volcano-dashboard", True),
        ("volcano-dashboard.volcano-system.svc.:80", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:8080", False),
        ("volcano-dashboard.evil.example", False),
        ("user@localhost", False),
        ("localhost/x", False),
        ("[::1", False),
        ("localhost:99999999", False),
        ("", False),
    ],
)
def test_names_that_are_answered(host: str, known: bool) -> None:
    assert is_known_host(host, HOSTS) is known
    refused = refusal("GET", {"Host": host}, hosts=HOSTS, has_token=False)
    assert (refused is None) is known
    if refused is not None:
        assert refused.status == 421
        assert "DASHBOARD_HOSTS" in refused.sentence


def test_a_token_may_come_by_the_api_servers_name() -> None:
    assert refusal("GET", {"Host": "api.example:6443"}, hosts=HOSTS, has_token=True) is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (JSON, None),
        ({"Content-Type": "Application/JSON; charset=utf-8"}, None),
        ({**JSON, "Origin": "http://localhost:8080"}, None),
        ({**JSON, "Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"}, None),
        ({**JSON, "Origin": "http://localhost:9090"}, 403),
        ({**JSON, "Origin": "https://evil.example"}, 403),
        ({**JSON, "Origin": "null"}, 403),
        ({**JSON, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**JSON, "Sec-Fetch-Site": "same-site"}, 403),
        ({**JSON, "Sec-Fetch-Site": "none"}, None),
    ],
)
@pytest.mark.parametrize("has_token", [False, True])
def test_questions_are_json_and_of_our_own_origin(
    headers: dict[str, str], status: int | None, has_token: bool
) -> None:
    full = {"Host": "localhost:8080", **headers}
    refused = refusal("POST", full, hosts=HOSTS, has_token=has_token)
    assert (refused.status if refused else None) == status
    assert refusal("GET", full, hosts=HOSTS, has_token=has_token) is None


@pytest.mark.parametrize("host", ["a:b:c", "\x00", "[", "a b", "%", "//x"])
def test_odd_hosts_are_no_names(host: str) -> None:
    assert host_name(host) not in HOSTS
    assert not is_known_host(host, HOSTS)


@pytest.mark.parametrize(
    ("environment", "sees_all"),
    [
        ({}, True),
        ({"DASHBOARD_HOST": "::1"}, True),
        ({"DASHBOARD_HOST": "0.0.0.0"}, False),
        ({"DASHBOARD_HOST": "0.0.0.0", "DASHBOARD_ANONYMOUS": "all"}, True),
        ({"DASHBOARD_ANONYMOUS": "none"}, False),
    ],
)
def test_without_a_token_loopback_shows_all_and_others_nothing(
    environment: dict[str, str], sees_all: bool
) -> None:
    assert Config.from_env(environment).anonymous_sees_all is sees_all


@pytest.mark.parametrize(
    "environment",
    [{"DASHBOARD_HOSTS": "http://a"}, {"DASHBOARD_HOSTS": "a:80"}, {"DASHBOARD_ANONYMOUS": "some"}],
)
def test_values_that_cannot_be_used_are_named(environment: dict[str, str]) -> None:
    (name,) = environment
    with pytest.raises(ValueError, match=name):
        Config.from_env(environment)


def test_hosts_are_names_separated_by_commas() -> None:
    hosts = Config.from_env({"DASHBOARD_HOSTS": " A.example. ,b_c"}).hosts
    assert hosts == {"a.example", "b_c"}
