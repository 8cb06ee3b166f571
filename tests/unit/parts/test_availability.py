"""Which way a part comes, when a test is skipped, and what PYROCLAST_REQUIRE changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from vc.parts import availability, docker
from vc.parts.availability import Facts, Way, decide, given_address, require_or_skip_reason
from vc.parts.errors import BuildFailedError, PartError
from vc.parts.fetch import getting
from vc.parts.fetch.catalogue import PARTS, QUICK_SECONDS_MAX
from vc.parts.fetch.getting import Obtained, Source
from vc.parts.progress import Say, silent


@dataclass(frozen=True)
class Case:
    """A part, what is known of it, and the way it comes."""

    id: str
    part: str
    facts: Facts
    way: Way


CASES = (
    Case("an address beats all", "kafka", Facts(given="h:1", docker=True), Way.GIVEN),
    Case("docker beats the cache", "kafka", Facts(docker=True, found=Source.CACHE), Way.CONTAINER),
    Case("docker is no way for kubernetes", "kubernetes", Facts(docker=True), Way.SLOW),
    Case("a program on PATH", "redis", Facts(found=Source.MACHINE), Way.MACHINE),
    Case("in the cache", "jaeger", Facts(found=Source.CACHE), Way.CACHED),
    Case("jars come in seconds", "kafka", Facts(), Way.QUICK),
    Case("a wheel comes in seconds", "redis", Facts(), Way.QUICK),
    Case("a build takes minutes", "kwok", Facts(), Way.SLOW),
    Case("no Maven, no Kafka", "kafka", Facts(build_refusal="no mvn."), Way.MISSING),
    Case(
        "no Maven, but cached",
        "kafka",
        Facts(build_refusal="x", found=Source.CACHE),
        Way.CACHED,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_way_a_part_comes(case: Case) -> None:
    assert decide(PARTS[case.part], case.facts).way is case.way


def test_slow_and_missing_say_how_to_get_the_part() -> None:
    slow = decide(PARTS["kubernetes"], Facts())
    assert not slow.is_now
    assert slow.why == (
        "kubernetes is missing and takes about 10 min to build: `make parts`, "
        "or set PYROCLAST_TEST_KUBECONFIG to a kubeconfig that tests may use."
    )
    missing = decide(PARTS["kafka"], Facts(build_refusal="there is no mvn on PATH."))
    assert missing.why == "kafka is missing: there is no mvn on PATH."


def test_only_parts_that_come_in_seconds_are_quick() -> None:
    quick = {part.name for part in PARTS.values() if part.build_seconds <= QUICK_SECONDS_MAX}
    assert quick == {"kafka", "redis"}


@pytest.mark.parametrize(
    ("part", "env", "address"),
    [
        ("kafka", {"KAFKA_BOOTSTRAP_SERVERS": "k:9092"}, "k:9092"),
        ("redis", {"REDIS_URL": "redis://r"}, "redis://r"),
        ("kubernetes", {"KUBECONFIG": "/production"}, ""),
        ("kubernetes", {"PYROCLAST_TEST_KUBECONFIG": "/test"}, "/test"),
        ("kubernetes", {"PYROCLAST_TEST_KUBECONFIG": "1", "KUBECONFIG": "/mine"}, "/mine"),
        ("kubernetes", {"PYROCLAST_TEST_KUBECONFIG": "1"}, ""),
        ("jaeger", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o"}, ""),
        (
            "jaeger",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o", "JAEGER_QUERY_URL": "http://q"},
            "http://o",
        ),
        ("etcd", {"KAFKA_BOOTSTRAP_SERVERS": "k:9092"}, ""),
    ],
)
def test_addresses_given_by_the_environment(part: str, env: dict[str, str], address: str) -> None:
    assert given_address(PARTS[part], env) == address


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """No programs, no Docker, an empty cache."""
    monkeypatch.setattr(docker, "docker_answers", lambda: False)
    return {"PATH": str(tmp_path / "bin"), "PYROCLAST_PARTS_CACHE": str(tmp_path / "cache")}


def stub_obtain(monkeypatch: pytest.MonkeyPatch, error: PartError | None = None) -> list[str]:
    """Records what would be built, or fails as a build does."""
    built: list[str] = []

    def obtain(name: str, *, say: Say = silent, env: Mapping[str, str] | None = None) -> Obtained:
        built.append(name)
        if error:
            raise error
        return Obtained(name=name, version="1", source=Source.BUILT, path=Path("/x"), seconds=1.0)

    monkeypatch.setattr(getting, "obtain", obtain)
    return built


def test_a_slow_part_is_skipped_and_not_built(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stub_obtain(monkeypatch)
    reason = require_or_skip_reason("jaeger", env=empty_machine)
    assert reason is not None
    assert reason.startswith("jaeger is missing and takes about 8 min to build")
    assert built == []


def test_a_required_slow_part_is_built_with_what_it_needs(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stub_obtain(monkeypatch)
    env = {**empty_machine, "PYROCLAST_REQUIRE": "kafka, kubernetes"}
    assert require_or_skip_reason("kubernetes", env=env) is None
    assert built == ["etcd", "kubernetes"]


def test_a_quick_part_is_got_on_the_way(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stub_obtain(monkeypatch)
    assert require_or_skip_reason("redis", env=empty_machine) is None
    assert built == ["redis"]


def test_a_quick_part_that_fails_skips_unless_required(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub_obtain(monkeypatch, BuildFailedError("no network; the log is /l."))
    assert require_or_skip_reason("redis", env=empty_machine) == "no network; the log is /l."
    with pytest.raises(BuildFailedError):
        require_or_skip_reason("redis", env={**empty_machine, "PYROCLAST_REQUIRE": "redis"})


def test_a_given_part_is_never_built(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stub_obtain(monkeypatch)
    env = {**empty_machine, "KAFKA_BOOTSTRAP_SERVERS": "k:1", "PYROCLAST_REQUIRE": "kafka"}
    assert require_or_skip_reason("kafka", env=env) is None
    availability.obtain_required(say=silent, env=env)
    assert built == []


def test_a_test_that_hurts_a_server_does_not_take_a_given_one(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stub_obtain(monkeypatch)
    env = {
        **empty_machine,
        "PYROCLAST_TEST_KUBECONFIG": "/test",
        "PYROCLAST_REQUIRE": "kubernetes",
    }
    assert require_or_skip_reason("kubernetes", env=env) is None
    reason = require_or_skip_reason("kubernetes", own=True, env=env)
    assert reason is not None
    assert reason.startswith("kubernetes is missing")
    assert built == [], "a build of minutes must not run inside a test"


def test_a_test_that_hurts_a_server_gets_a_quick_one(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = stub_obtain(monkeypatch)
    env = {**empty_machine, "REDIS_URL": "redis://there"}
    assert require_or_skip_reason("redis", own=True, env=env) is None
    assert built == ["redis"]


def test_kubernetes_without_etcd_is_not_available(
    empty_machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = getting.slot_of(PARTS["kubernetes"], empty_machine)
    slot.folder.mkdir(parents=True)
    found = availability.availability_of("kubernetes", env=empty_machine)
    assert found.way is Way.SLOW
    assert found.why.startswith("etcd is missing")


def test_an_unknown_requirement_is_an_error() -> None:
    with pytest.raises(PartError, match="no part named 'kafak'"):
        availability.required_parts({"PYROCLAST_REQUIRE": "redis,kafak"})
