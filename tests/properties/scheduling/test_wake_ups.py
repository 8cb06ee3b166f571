"""A session that waits for a time always registers a wake-up.

Random clusters run as under the shell (`tests/unit/scheduling/life.py`), and evictions, binds, releases and conditions
may be refused. `tests/unit/scheduling/test_timers.py` checks that each wake-up is needed.
"""

from typing import Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.scheduling.test_evictions import PHASES, PRIORITIES
from tests.unit.scheduling.life import Life
from tests.unit.scheduling.objects import EPOCH, group, node, pod, priority_class, queue
from vc.model.api.keys import SLA_WAITING_TIME
from vc.model.api.meta import ApiObject
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import Conf, PluginConf

MINIMUMS: Final[list[ResourceList | None]] = [None, {"cpu": "2"}, {"cpu": "9"}]
PATIENCE: Final = ("", "", "1h5s", "1h10m")
"""Jobs are an hour old when the world begins."""


@st.composite
def a_job(draw: st.DrawFn, name: str, classes: tuple[str, ...]) -> list[ApiObject]:
    count = draw(st.integers(1, 3))
    cpu = str(draw(st.integers(1, 5)))
    made = draw(st.sampled_from([count] * 6 + [0, 1]))
    born = EPOCH + draw(st.integers(0, 3))
    half = draw(st.sampled_from([False, False, False, True]))  # a crash left its first pod bound
    members: list[ApiObject] = [
        pod(
            f"{name}-{n}",
            group=name,
            requests={"cpu": cpu},
            created=born,
            on="n0" if half and count > 1 and n == 0 else "",
        )
        for n in range(made)
    ]
    head = group(
        name,
        minimum=count if half else draw(st.integers(1, count)),
        phase=draw(st.sampled_from(["", "Inqueue", "Inqueue", "Inqueue"])),
        priority_class=draw(st.sampled_from(classes)),
        min_resources=draw(st.sampled_from(MINIMUMS)),
        age=draw(st.integers(0, 3)),
    )
    patience = draw(st.sampled_from(PATIENCE))
    if patience:
        annotations = {SLA_WAITING_TIME: patience}
        metadata = msgspec.structs.replace(head.metadata, annotations=annotations)
        head = msgspec.structs.replace(head, metadata=metadata)
    return [head, *members]


def a_conf(data: st.DataObject) -> Conf:
    first, second = Conf().tiers
    if data.draw(st.booleans()):
        first = (PluginConf(name="sla"), *first)
    return Conf(tiers=(first, second))


@settings(max_examples=150, deadline=None, phases=PHASES)
@given(data=st.data())
def test_nothing_is_decided_before_the_time_a_session_asked_for(data: st.DataObject) -> None:
    often = data.draw(st.sampled_from([0, 1, 3]))
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    life = Life(
        [priority_class(name, value) for name, value in PRIORITIES.items() if name],
        queue(),
        [node(f"n{n}", cpu=cpu) for n, cpu in enumerate(sizes)],
        conf=a_conf(data),
        refuses=lambda _: often > 0 and data.draw(st.integers(0, 3)) < often,
    )
    for turn in range(data.draw(st.integers(1, 4))):
        classes = ("high", "high", "middle", "") if turn else ("low", "")
        for number in range(data.draw(st.integers(1, 2))):
            life.put(*data.draw(a_job(f"j{turn}{number}", classes)))
        if data.draw(st.booleans()):
            life.leave()
        life.rest(wakes=data.draw(st.integers(0, 6)))
