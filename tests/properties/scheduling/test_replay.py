"""Replay: any session can be run again from its record, to the same bytes.

Random clusters go through several sessions with evictions, finished pods, new jobs and changed nodes and queues. Each
session is recorded in a chain, and each prefix of the chain replays its last session.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.scheduling import test_evictions as evictions
from tests.properties.scheduling import test_sessions as sessions
from tests.unit.scheduling.objects import gang, node, priority_class, queue
from tests.unit.scheduling.recording import Recording
from tests.unit.scheduling.test_determinism import a_bit_of_everything
from tests.unit.scheduling.world import World
from vc.model.api import kinds
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node
from vc.scheduling.conf.model import Conf, PluginConf

ROOT = Path(__file__).parents[3]


def _with_images(changed: ApiObject) -> ApiObject:
    assert isinstance(changed, Node)
    images = node("other", images={"other:1": 2**33}).status.packed_images
    status = msgspec.structs.replace(changed.status, packed_images=images)
    return msgspec.structs.replace(changed, status=status)


@settings(max_examples=60, deadline=None, phases=evictions.PHASES)
@given(data=st.data())
def test_recorded_sessions_of_random_clusters_replay_to_the_same_bytes(data: st.DataObject) -> None:
    jobs = [data.draw(sessions.a_job(f"j{n}")) for n in range(data.draw(st.integers(1, 5)))]
    nodes, queues = data.draw(sessions.some_nodes()), data.draw(sessions.some_queues())
    world = World(priority_class("high", 10), queues, nodes, *jobs)
    recording = Recording(world)
    for turn in range(4):
        recording.session()
        running = [p for p in world.pods() if p.status.phase == "Running"]
        if running:
            world.finish(data.draw(st.sampled_from(running)).metadata.name)
        match data.draw(st.integers(0, 4)):
            case 0:
                world.put(node(f"late{turn}", cpu=4, images={"big": 2**33}))
            case 4 if nodes:
                world.put(_with_images(nodes[0]))
            case 1 if nodes and turn == 1:
                world.delete(kinds.NODES, nodes[0].key)
            case 2:
                world.put(queue(data.draw(st.sampled_from(["team", "a-team"])), weight=2 + turn))
            case 3:
                world.put(*data.draw(sessions.a_job(f"late{turn}")))
        world.now += data.draw(st.sampled_from([0.0, 1.0, 40.0]))
    recording.check()


@settings(max_examples=60, deadline=None, phases=evictions.PHASES)
@given(data=st.data())
def test_recorded_sessions_with_evictions_replay_to_the_same_bytes(data: st.DataObject) -> None:
    classes = [priority_class(name, value) for name, value in evictions.PRIORITIES.items() if name]
    queues = [queue("a", weight=2), queue("b"), queue("kept", reclaimable=False)]
    sizes = data.draw(st.lists(st.integers(2, 8), min_size=1, max_size=4))
    world = World(classes, queues, [node(f"n{n}", cpu=cpu) for n, cpu in enumerate(sizes)])
    recording = Recording(world)
    for turn in range(4):
        for n in range(data.draw(st.integers(1, 3))):
            world.put(*data.draw(evictions.a_job(f"j{turn}{n}")))
        recording.session()
        if data.draw(st.booleans()):
            world.leave()
        world.now += data.draw(st.sampled_from([0.0, 11.0, 200.0]))
    recording.check()


def records() -> Recording:
    """A world with a bit of everything, recorded over five sessions."""
    world = a_bit_of_everything()
    recording = Recording(world)
    for turn in range(5):
        recording.session()
        world.leave()
        world.put(*gang(f"late{turn}", 3, queue="q1", cpu=2, priority_class="high"))
    return recording


def digest() -> str:
    """Of the replays, from frames that this process wrote."""
    recording = records()
    recording.check()
    return hashlib.sha256("".join(e.digest for e in recording.entries).encode()).hexdigest()


def test_two_hash_seeds_record_and_replay_the_same() -> None:
    code = "from tests.properties.scheduling.test_replay import digest; print(digest())"
    answers = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.strip()
        for seed in ("1", "4242")
    ]
    assert answers[0] == answers[1] == digest()


def test_queues_that_come_between_others_are_walked_over_in_their_order() -> None:
    world = World(queue("default"), queue("tests"), node("n", cpu=8), gang("a", 1, cpu=1))
    recording = Recording(world)
    recording.session()
    of_each = [gang(f"of-{name}", 1, cpu=1, queue=name) for name in ("tests", "dev", "default")]
    world.put(queue("dev"), *[item for group in of_each for item in group])
    assert [status.queue for status in recording.session().queues] == ["default", "dev", "tests"]
    world.delete(kinds.QUEUES, "dev")
    world.put(queue("ant"), *gang("of-ant", 1, cpu=1, queue="ant"))
    recording.session()
    recording.check()


def test_a_frame_of_a_quiet_session_is_small() -> None:
    recording = records()
    base, *later = [len(entry.frame) for entry in recording.entries]
    assert min(later) < base / 2, (base, later)


def test_a_changed_configuration_is_part_of_the_input() -> None:
    world = World(queue(), [node("n", cpu=4)], gang("g", 3, cpu=2))
    recording = Recording(world)
    assert recording.session().bound_pods == 0
    world.conf = Conf(tiers=((PluginConf(name="predicates"),),))
    assert recording.session().bound_pods == 2, "without gang two of three fit"
    recording.check()
