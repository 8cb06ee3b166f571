"""The API server's clock from `Date` headers: never ahead, late by a bound, not fooled by one answer."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vc.clock.server_clock import (
    CONFIRMATION_SECONDS,
    CONFIRMATIONS,
    DATE_MAX,
    SMALL_STEP_SECONDS,
    ServerClock,
)

EPOCH = 1_800_000_000.0
HOUR = 3600.0


class Machine:
    """A clock that is turned by hand."""

    def __init__(self, *, ahead: float = 0.0) -> None:
        self.moment = 1000.0
        self.ahead = ahead

    def now(self) -> float:
        return EPOCH + self.moment + self.ahead

    def wall(self) -> float:
        return self.now()

    def monotonic(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        self.moment += seconds


class Server:
    """An API server beside it whose monotonic time runs a little differently."""

    def __init__(self, machine: Machine, *, drift: float = 0.0) -> None:
        self.machine = machine
        self.drift = drift
        self.set_by = 0.0

    def now(self) -> float:
        return EPOCH + self.machine.moment * (1 + self.drift) + self.set_by

    def answer(self, clock: ServerClock, *, there: float = 0.0, back: float = 0.0) -> None:
        """One request: on its way for so long, and back."""
        sent = self.machine.moment
        self.machine.moment += there
        date = float(math.floor(self.now()))
        self.machine.moment += back
        clock.observe(date, sent=sent, received=self.machine.moment)


def pair(*, ahead: float = 0.0, drift: float = 0.0) -> tuple[Machine, Server, ServerClock]:
    machine = Machine(ahead=ahead)
    return machine, Server(machine, drift=drift), ServerClock(machine)


STEPS = st.tuples(
    st.floats(0.0, 100.0),  # time that passes
    st.floats(0.0, 3.0),  # the request's way
    st.floats(0.0, 3.0),  # and back
)


@settings(max_examples=300, deadline=None)
@given(
    ahead=st.floats(-1e6, 1e6),
    drift=st.floats(-2e-4, 2e-4),
    start=st.floats(0.0, 1.0),
    steps=st.lists(STEPS, min_size=1, max_size=40),
)
def test_never_ahead_of_the_server_never_back_and_late_by_a_bound(
    ahead: float, drift: float, start: float, steps: list[tuple[float, float, float]]
) -> None:
    machine, server, clock = pair(ahead=ahead, drift=drift)
    machine.moment += start
    latest = -math.inf
    for passes, there, back in steps:
        server.answer(clock, there=there, back=back)
        for part in range(3):
            machine.moment += part * passes / 3
            now = clock.now()
            assert now <= server.now() + 1e-6
            assert now >= latest
            assert server.now() - now <= clock.width_seconds + 1e-6
            latest = now
    assert clock.width_seconds <= 1 + 6 + 2e-3 * 100
    assert clock.ignored == 0


def test_answers_on_both_sides_of_a_second_narrow_it() -> None:
    machine, server, clock = pair(ahead=HOUR)
    machine.moment += 0.3
    server.answer(clock)
    assert clock.width_seconds == pytest.approx(1.0)
    for _ in range(6):
        machine.moment = clock.next_edge()
        server.answer(clock)
    assert clock.width_seconds < 0.03
    assert clock.now() == pytest.approx(server.now(), abs=0.03)
    assert clock.ahead_seconds == pytest.approx(HOUR, abs=0.03)


@pytest.mark.parametrize("start", [0.0, 0.3, 0.999, 1000.123456])
def test_now_is_not_before_the_creation_of_an_object_that_was_read(start: float) -> None:
    """A service that reacts within the second of the creation writes a time of that second."""
    machine, server, clock = pair(ahead=HOUR)
    machine.moment += start
    server.answer(clock, there=0.4, back=0.4)
    for _ in range(20):
        machine.moment += 0.37
        created = math.floor(server.now())
        machine.moment += 0.001
        clock.observe_creation(created)
        assert created <= math.floor(clock.now())
        assert clock.now() <= server.now()


@pytest.mark.parametrize("off", [HOUR, 3.0, -3.0, -HOUR])
def test_a_creation_that_contradicts_the_interval_is_ignored(off: float) -> None:
    machine, server, clock = pair()
    server.answer(clock)
    before, observed = clock.now(), clock.observed_at
    clock.observe_creation(server.now() + off)
    assert clock.now() == before
    assert (clock.observed_at, clock.doubted) == (observed, False)
    assert machine.moment == 1000.0


def test_creations_alone_do_not_set_the_clock() -> None:
    _, server, clock = pair(ahead=HOUR)
    clock.observe_creation(server.now())
    assert not clock.known


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_step_of_the_machines_clock_is_not_seen(step: float) -> None:
    machine, server, clock = pair()
    server.answer(clock)
    before = clock.now()
    machine.ahead += step
    machine.moment += 1
    assert clock.now() == pytest.approx(before + 1, abs=0.01)
    assert clock.wall() == pytest.approx(server.now(), abs=1.0)


@pytest.mark.parametrize("other", [HOUR, -HOUR, 1e8])
def test_one_odd_answer_changes_nothing(other: float) -> None:
    machine, server, clock = pair()
    server.answer(clock)
    before = clock.now()
    clock.observe(server.now() + other, sent=machine.moment, received=machine.moment)
    assert clock.now() == before
    assert (clock.doubted, clock.steps) == (True, 0)
    server.answer(clock)
    assert (clock.doubted, clock.steps) == (False, 0)
    assert (clock.steps, clock.ignored) == (0, 1)


def test_many_odd_answers_at_once_are_one() -> None:
    machine, server, clock = pair()
    server.answer(clock)
    for _ in range(10 * CONFIRMATIONS):
        clock.observe(server.now() + HOUR, sent=machine.moment, received=machine.moment)
    assert clock.steps == 0


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_server_whose_clock_was_set_is_followed(step: float) -> None:
    machine, server, clock = pair()
    server.answer(clock)
    server.set_by = step
    for _ in range(CONFIRMATIONS):
        assert clock.now() == pytest.approx(server.now() - step, abs=1.01)
        machine.moment += CONFIRMATION_SECONDS / (CONFIRMATIONS - 1)
        server.answer(clock)
    assert clock.now() == pytest.approx(server.now(), abs=1.01)
    assert clock.steps == 1
    assert clock.moved_seconds == pytest.approx(step, abs=1.01)


def test_a_small_correction_backwards_is_waited_out() -> None:
    machine, server, clock = pair()
    for _ in range(8):
        machine.moment = clock.next_edge()
        server.answer(clock)
    before = clock.now()
    server.set_by = -SMALL_STEP_SECONDS / 2
    while not clock.steps:
        machine.moment += 0.5
        server.answer(clock)
        assert clock.now() >= before
        before = clock.now()


@pytest.mark.parametrize("date", [0.0, -1.0, math.nan, math.inf, -math.inf, DATE_MAX, 4e8, 1e300])
def test_what_is_no_time_is_ignored(date: float) -> None:
    machine, _, clock = pair()
    clock.observe(date, sent=machine.moment, received=machine.moment)
    assert not clock.known
    assert clock.ignored == 1


def test_without_dates_the_machines_clock_goes_on_without_its_steps() -> None:
    machine, server, clock = pair(ahead=5.0)
    assert clock.now() == machine.now()
    clock.trust_own()
    machine.ahead += HOUR
    machine.moment += 10
    assert clock.now() == pytest.approx(EPOCH + machine.moment + 5.0, abs=0.01)
    for _ in range(CONFIRMATIONS + 1):
        machine.moment += CONFIRMATION_SECONDS
        server.answer(clock)
    assert clock.now() == pytest.approx(server.now(), abs=1.01)
