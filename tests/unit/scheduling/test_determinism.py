"""Determinism: the same snapshot, configuration and time give the same bytes under any hash seed."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.unit.scheduling.objects import gang, node, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.node import Taint
from vc.scheduling.model.decisions import Decisions

ROOT = Path(__file__).parents[3]


def a_bit_of_everything() -> World:
    """Taints, capabilities, priorities, gangs that are in and others that wait."""
    taint = Taint(key="t", effect="NoSchedule")
    return World(
        [node(f"n{i}", cpu=8 + i % 3, taints=[taint] if i % 5 == 0 else []) for i in range(20)],
        [queue(f"q{i}", weight=i + 1, capability={"cpu": "60"} if i else {}) for i in range(4)],
        priority_class("high", 9),
        *[
            gang(f"g{i}", 1 + i % 7, minimum=1 + i % 3, queue=f"q{i % 4}", age=i % 5, cpu=1 + i % 4,
                 phase="Pending" if i % 2 else "Inqueue", priority_class="high" if i % 6 == 0 else "")
            for i in range(40)
        ],
    )  # fmt: skip


def digest() -> str:
    """Decisions of three sessions over a world with a bit of everything."""
    world = a_bit_of_everything()
    whole = hashlib.sha256()
    encoder = msgspec.msgpack.Encoder(order="deterministic")
    for _ in range(3):
        decisions: Decisions = world.session()
        whole.update(encoder.encode(decisions))
    return whole.hexdigest()


def test_two_hash_seeds_give_the_same_bytes() -> None:
    code = "from tests.unit.scheduling.test_determinism import digest; print(digest())"
    answers = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "4242")
    ]
    assert answers[0] == answers[1]
    assert answers[0].strip() == digest()
