"""The command lines and settings that servers are started with."""

from pathlib import Path

import yaml

from vc.parts import kwok_stages
from vc.parts.containers import kafka_environment
from vc.parts.control_plane_flags import (
    CONTROLLERS,
    NODE_LIFECYCLE,
    Files,
    apiserver_command,
    controller_manager_command,
)
from vc.parts.servers.etcd import etcd_command
from vc.parts.servers.jaeger import jaeger_settings
from vc.parts.servers.kafka import broker_settings, java_command
from vc.parts.servers.kwok import fake_node, kwok_command
from vc.parts.servers.redis import redis_command

FILES = Files(folder=Path("/f"))
PROGRAM = Path("/p")


def apiserver(
    *, controllers: tuple[str, ...] = CONTROLLERS, audit: bool = False, extra: tuple[str, ...] = ()
) -> list[str]:
    """A kube-apiserver command line with the given choices."""
    return apiserver_command(
        PROGRAM,
        FILES,
        port=6443,
        etcd_url="http://127.0.0.1:2379",
        audit_log=Path("/f/audit.log") if audit else None,
        controllers=controllers,
        extra=extra,
    )


def test_kafka_listens_on_loopback_creates_no_topics_and_takes_four_megabytes() -> None:
    settings = broker_settings(port=1, controller_port=2, data=Path("/d"))
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2"
    assert settings["auto.create.topics.enable"] == "false"
    assert settings["delete.topic.enable"] == "true"
    assert settings["group.initial.rebalance.delay.ms"] == "0"
    assert int(settings["message.max.bytes"]) > 4_000_000
    factors = {value for key, value in settings.items() if key.endswith("replication.factor")}
    assert factors == {"1"}


def test_kafka_runs_with_a_small_heap() -> None:
    command = java_command(Path("/java"), Path("/jars"), heap_mb=256, log_settings=Path("/l"))
    assert command[:4] == ["/java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    assert command[-2:] == ["-cp", "/jars/*"]


def test_kafka_in_a_container_advertises_the_port_of_the_host() -> None:
    environment = kafka_environment(19092, 19093)
    assert environment["KAFKA_ADVERTISED_LISTENERS"] == "PLAINTEXT://127.0.0.1:19092"
    assert environment["KAFKA_LISTENERS"].startswith("PLAINTEXT://0.0.0.0:19092,")
    assert environment["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


def test_redis_keeps_nothing_and_listens_on_loopback() -> None:
    command = redis_command(PROGRAM, port=1, folder=Path("/d"))
    assert command[command.index("--bind") + 1] == "127.0.0.1"
    assert command[command.index("--save") + 1] == ""
    assert command[command.index("--appendonly") + 1] == "no"
    assert "--requirepass" not in command
    assert redis_command(PROGRAM, port=1, folder=Path("/d"), password="s")[-1] == "s"


def test_etcd_skips_fsync_unless_it_must_be_durable() -> None:
    ports = {"port": 1, "peer_port": 2}
    assert "--unsafe-no-fsync" in etcd_command(PROGRAM, data=Path("/d"), durable=False, **ports)
    assert "--unsafe-no-fsync" not in etcd_command(PROGRAM, data=Path("/d"), durable=True, **ports)


def test_the_api_server_checks_rights_and_listens_on_loopback() -> None:
    command = apiserver()
    assert command[1] == "kube-apiserver"
    assert "--authorization-mode=RBAC" in command
    assert "--bind-address=127.0.0.1" in command
    assert "--token-auth-file=/f/tokens.csv" in command
    assert not [flag for flag in command if flag.startswith("--audit")]


def test_the_api_server_audits_when_asked_and_takes_extra_flags_last() -> None:
    command = apiserver(audit=True, extra=("--v=4",))
    assert "--audit-log-path=/f/audit.log" in command
    assert command[-1] == "--v=4"


def test_nodes_are_not_tainted_when_nobody_would_take_the_taint_away() -> None:
    disabled = "--disable-admission-plugins=TaintNodesByCondition"
    assert disabled in apiserver()
    assert disabled not in apiserver(controllers=(*CONTROLLERS, NODE_LIFECYCLE))


def test_the_controller_manager_runs_only_what_is_asked_for() -> None:
    command = controller_manager_command(
        PROGRAM, FILES, port=1, kubeconfig=Path("/k"), controllers=("job-controller",)
    )
    assert "--controllers=job-controller" in command
    assert "--leader-elect=false" in command


def test_the_controllers_of_a_test_cluster() -> None:
    for name in (
        "garbage-collector",
        "namespace",
        "serviceaccount",
        "resourcequota",
        "statefulset",
    ):
        assert f"{name}-controller" in CONTROLLERS


def test_jaeger_listens_on_loopback_only() -> None:
    text = jaeger_settings(otlp_http=1, otlp_grpc=2, query=3, query_grpc=4)
    settings = yaml.safe_load(text)
    endpoints = [
        settings["extensions"]["jaeger_query"][way]["endpoint"] for way in ("http", "grpc")
    ]
    receivers = settings["receivers"]["otlp"]["protocols"]
    endpoints += [receivers[way]["endpoint"] for way in ("http", "grpc")]
    assert endpoints == ["127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:1", "127.0.0.1:2"]
    assert settings["service"]["telemetry"]["metrics"]["level"] == "none"


def test_kwok_takes_annotated_nodes_only() -> None:
    command = kwok_command(PROGRAM, kubeconfig=Path("/k"), stages=Path("/s"), port=1)
    assert "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake" in command
    assert "--manage-all-nodes=false" in command


def test_the_stages_are_valid_documents_with_distinct_names() -> None:
    stages = list(yaml.safe_load_all(kwok_stages.STAGES))
    names = [stage["metadata"]["name"] for stage in stages]
    assert names == ["node-ready", "node-heartbeat", "pod-running", "pod-ends", "pod-deleted"]
    assert {stage["kind"] for stage in stages} == {"Stage"}


def test_a_fake_node_has_the_capacity_it_was_given() -> None:
    node = fake_node("n1", cpu="4", memory="8Gi", pods="10")
    expected = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    assert node["status"] == {"capacity": expected, "allocatable": expected}
