"""The access table: what services really follow, the documents, and the chart's files all agree with it."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders.contexts import memory_context
from vc.cli.pyroclast.acls import PREFIX_PLACEHOLDER, kafka_commands, kafka_script, redis_users
from vc.cli.pyroclast.main import main
from vc.cli.pyroclast.rights import rights_of, service_facts
from vc.cli.pyroclast.services import SERVICES, build_of
from vc.clock import run_virtual
from vc.messages.access import FOLLOWED, PURE_PLUGINS, SNAPSHOTS, access_of
from vc.messages.topics import ALL, EVERYONE, PROGRESS, Topic
from vc.model.api.kinds import Kind
from vc.runtime.consuming.follower import Follower
from vc.scheduler.service import CHECKPOINT as SCHEDULER_CHECKPOINT
from vc.usage_ledger.store import CHECKPOINT as USAGE_CHECKPOINT

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy/helm/pyroclast"


def followed(service: str, monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], set[str]]:
    """Topics that its followers are made for, and their groups."""
    topics: set[str] = set()
    groups: set[str] = set()
    made = Follower.__init__

    def note(self: Follower, context: Any, kinds: Any, **options: Any) -> None:
        extra: tuple[Topic, ...] = options.get("extra", ())
        wanted: tuple[Kind, ...] = tuple(kinds)
        topics.update(kind.topic for kind in wanted)
        topics.update(topic.name for topic in extra)
        groups.update(filter(None, [options.get("group", "")]))
        made(self, context, wanted, **options)

    monkeypatch.setattr(Follower, "__init__", note)

    async def build() -> None:
        build_of(service)(memory_context(service))

    run_virtual(build())
    return topics, groups


@pytest.mark.parametrize("service", [s for s in FOLLOWED if s != "watcher"])
def test_a_service_may_read_exactly_what_it_follows(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, groups = followed(service, monkeypatch)
    assert set(access_of(service).reads) == topics | {PROGRESS.name}
    assert set(access_of(service).groups) == groups


def test_every_service_is_in_the_table() -> None:
    plugins = {service for service in SERVICES if service.startswith("plugin-")}
    assert set(FOLLOWED) | plugins == set(SERVICES)
    assert set(PURE_PLUGINS) == {s for s in SERVICES if not rights_of(s).identity_rules}


def test_only_the_watcher_writes_facts_and_progress() -> None:
    for topic in ALL:
        writing = {s for s in SERVICES if topic.name in access_of(s).writes}
        if topic.name.startswith("cluster."):
            assert writing == {"watcher"}, topic.name
        elif topic.producer == EVERYONE:
            assert writing == set(SERVICES)
        elif topic.producer != "plugins":
            assert writing == {topic.producer}


def test_redis_is_for_those_who_use_it() -> None:
    assert set(SNAPSHOTS) == {name for name, facts in service_facts().items() if facts.get("redis")}
    assert SNAPSHOTS["scheduler"].checkpoints == (SCHEDULER_CHECKPOINT,)
    assert SNAPSHOTS["usage-ledger"].checkpoints == (USAGE_CHECKPOINT,)


def test_the_charts_files_are_made_of_the_table() -> None:
    kafka = (CHART / "acls/kafka-acls.sh").read_text()
    assert kafka == kafka_script(prefix=PREFIX_PLACEHOLDER), "run `make acls manifests`"
    assert (CHART / "acls/users.acl").read_text() == redis_users(), "run `make acls manifests`"


def table() -> str:
    rows = ["| user | reads | writes | group |", "|---|---|---|---|"]
    for service in SERVICES:
        access = access_of(service)
        cells = (access.reads, access.writes, access.groups)
        told = (", ".join(f"`{name}`" for name in names) or "–" for names in cells)
        rows.append(f"| `vc-{service}` | {' | '.join(told)} |")
    return "\n".join(rows)


def test_the_document_has_the_table() -> None:
    assert table() in (ROOT / "docs/acls.md").read_text(), f"docs/acls.md needs:\n{table()}"


def test_a_guest_gets_its_topic_and_the_job_controller_may_ask_it() -> None:
    lines = kafka_commands(prefix="a.", plugins=["guest"])
    ours = [line for line in lines if "User:vc-plugin-guest " in line]
    assert any("--operation Create" in line and "a.plugin.guest.requests" in line for line in ours)
    assert any("--group a.vc-plugin-guest" in line for line in ours)
    asking = [line for line in lines if "User:vc-job-controller --operation Write" in line]
    assert "--topic a.plugin.guest.requests" in asking[0]


def test_the_command_prints_both(capsys: pytest.CaptureFixture[str]) -> None:
    for of, wanted in (("kafka", kafka_script()), ("redis", redis_users())):
        with pytest.raises(SystemExit) as left:
            main(["acls", of])
        assert left.value.code == 0
        assert capsys.readouterr().out == wanted
    with pytest.raises(SystemExit) as left:
        main(["acls", "redis", "--plugin", "x"])
    assert left.value.code == 1
