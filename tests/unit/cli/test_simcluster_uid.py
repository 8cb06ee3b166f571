"""A restarted `pyroclast simcluster` is the same cluster to a Kafka that outlived it."""

from vc.cli.pyroclast.simcluster import cluster_uid_at
from vc.clock import LoopClock
from vc.model.api.kinds import NAMESPACES
from vc.simcluster.verbs.api import Api


def uid_of(api: Api) -> str:
    found = api.get(api.registry.for_kind(NAMESPACES), name="kube-system")
    return str(found["metadata"]["uid"])


def test_the_uid_follows_from_the_address() -> None:
    first, again = (
        Api(clock=LoopClock(), cluster_uid=cluster_uid_at("127.0.0.1", 8001)) for _ in range(2)
    )
    assert uid_of(first) == uid_of(again) == cluster_uid_at("127.0.0.1", 8001)
    assert cluster_uid_at("127.0.0.1", 8002) != uid_of(first)


def test_a_cluster_without_an_address_is_a_new_one() -> None:
    assert cluster_uid_at("127.0.0.1", 0) == ""
    assert uid_of(Api(clock=LoopClock())) != uid_of(Api(clock=LoopClock()))
