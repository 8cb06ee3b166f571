"""Plugin classes are checked against the extension points when they are loaded."""

import functools
import logging
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

import vc.scheduling
from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.world import World
from vc.scheduler.configuration.extensions import ACTIONS_GROUP, PLUGINS_GROUP, register
from vc.scheduling import plugins
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.cycle import check_conf
from vc.scheduling.framework.order_points import JobOrder, OrderKey
from vc.scheduling.framework.points import (
    EXTENSION_POINTS,
    InvalidPluginError,
    check_plugin_class,
    points_of,
)
from vc.scheduling.framework.registry import PluginFailedError
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.plugins.drf.plugin import Drf, HierarchicalDrf
from vc.scheduling.session.session import Session

LOG = logging.getLogger("test-plugin-classes")


class Base:
    name: ClassVar[str] = "acme"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments


class Misspelled(Base):
    def job_order_kye(self, session: Session, group: GroupRow) -> OrderKey:
        return (session.now, group.key)


class Helper(Base):
    def compute(self) -> int:
        return 1


class OldName(Base):
    """The name of an earlier version: without the check it would never be called."""

    def may_evict(self, session: Session, pod: PodRow) -> bool:
        return bool(session.now) or pod.critical


class TooFew(Base):
    def job_order_key(self, session: Session) -> OrderKey:
        return (session.now,)


class TooMany(Base):
    def job_order_key(self, session: Session, group: GroupRow, queue: str) -> OrderKey:
        return (session.now, group.key, queue)


class OtherNames(Base):
    def job_order_key(self, group: GroupRow, session: Session) -> OrderKey:
        return (session.now, group.key)


class LacksKeyword(Base):
    def job_pipelined_vote(self, session: Session, group: GroupRow) -> int:
        return int(session.now) + len(group.key)


class AsProperty(Base):
    @property
    def preemptable(self) -> bool:
        return True


class Coroutine(Base):
    async def preemptable(self, session: Session, pod: PodRow) -> bool:
        return bool(session.now) or pod.critical


INVALID = [
    pytest.param(
        Misspelled,
        "plugin 'acme': method 'job_order_kye' belongs to no extension point; "
        "did you mean job_order_key?",
        id="misspelled",
    ),
    pytest.param(
        Helper,
        "plugin 'acme': method 'compute' belongs to no extension point; there are allocatable",
        id="public helper",
    ),
    pytest.param(
        OldName, "plugin 'acme': method 'may_evict' belongs to no extension point", id="old name"
    ),
    pytest.param(
        TooFew,
        "plugin 'acme': method 'job_order_key' takes (session), and the extension point calls it "
        "as job_order_key(session, group)",
        id="too few parameters",
    ),
    pytest.param(TooMany, "takes (session, group, queue), and", id="too many parameters"),
    pytest.param(OtherNames, "takes (group, session), and", id="parameters in another order"),
    pytest.param(
        LacksKeyword,
        "takes (session, group), and the extension point calls it as "
        "job_pipelined_vote(session, group, *, whole)",
        id="a keyword is missing",
    ),
    pytest.param(AsProperty, "'preemptable' is a property, and", id="property"),
    pytest.param(Coroutine, "'preemptable' is a coroutine, and", id="coroutine"),
]


@pytest.mark.parametrize(("plugin", "sentence"), INVALID)
def test_an_unknown_or_mis_signed_method_is_an_error(plugin: type, sentence: str) -> None:
    with pytest.raises(InvalidPluginError) as caught:
        check_plugin_class("acme", plugin)
    assert sentence in str(caught.value)


class Private(Base):
    _weight = 3
    WEIGHT_MAX: ClassVar[int] = 9

    def job_order_key(self, session: Session, group: GroupRow) -> OrderKey:
        return self._key(session, group)

    def _key(self, session: Session, group: GroupRow) -> OrderKey:
        return (session.now, group.key)


class Static(Base):
    @staticmethod
    def preemptable(session: Session, pod: PodRow) -> bool:
        return bool(session.now) or pod.critical


class WithDefault(Base):
    def preemptable(self, session: Session, pod: PodRow, strict: bool = True) -> bool:
        return strict or bool(session.now) or pod.critical


class Typed(Base, JobOrder):
    """Derived from the Protocol, so that mypy checks it."""

    def job_order_key(self, session: Session, group: GroupRow) -> OrderKey:
        return (session.now, group.key)


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


class Decorated(Base):
    @logged
    def preemptable(self, session: Session, pod: PodRow) -> bool:
        return bool(session.now) or pod.critical


@pytest.mark.parametrize(
    ("plugin", "points"),
    [
        (Base, []),
        (Private, ["JobOrder"]),
        (Static, ["Preemptable"]),
        (WithDefault, ["Preemptable"]),
        (Typed, ["JobOrder"]),
        (Decorated, ["Preemptable"]),
        (type("Inherits", (Static, Private), {}), ["JobOrder", "Preemptable"]),
        (type("SwitchedOff", (Private,), {"job_order_key": None}), []),
        (type("OnlyProtocol", (Base, JobOrder), {}), []),
    ],
)
def test_a_valid_class_takes_part_in_the_points_whose_methods_it_has(
    plugin: type, points: list[str]
) -> None:
    check_plugin_class("acme", plugin)
    assert [point.name for point in points_of(plugin)] == points


@pytest.mark.parametrize("name", sorted(plugins.REGISTRY))
def test_every_plugin_of_ours_is_valid_and_takes_part_in_some_point(name: str) -> None:
    plugin = plugins.REGISTRY[name]({})
    check_plugin_class(name, type(plugin))
    assert points_of(type(plugin))


def test_a_factory_decides_by_arguments_which_class_is_made() -> None:
    more = {p.name for p in points_of(HierarchicalDrf)} - {p.name for p in points_of(Drf)}
    assert more == {"QueueOrder", "DeservedShares"}


def test_each_method_belongs_to_one_protocol_and_begins_with_its_name() -> None:
    owners: dict[str, str] = {}
    for point in EXTENSION_POINTS:
        assert point.methods, point.name
        for method in point.methods:
            assert owners.setdefault(method, point.name) == point.name
            assert method.replace("_", "").startswith(point.name.lower())


def entry(plugin: type, *, group: str = PLUGINS_GROUP) -> EntryPoint:
    return EntryPoint(name="acme", value=f"{__name__}:{plugin.__name__}", group=group)


def test_an_invalid_class_of_an_entry_point_is_logged_and_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry: dict[str, Any] = {}
    assert register(registry, [entry(Misspelled)], LOG) == []
    assert registry == {}
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is None
    assert "extension acme" in record.getMessage()
    assert "is left out: plugin 'acme': method 'job_order_kye'" in record.getMessage()


def test_what_is_no_plugin_is_not_checked_as_one() -> None:
    registry: dict[str, Any] = {}
    assert register(registry, [entry(Helper, group=ACTIONS_GROUP)], LOG) == ["acme"]


def make_misspelled(arguments: Mapping[str, str]) -> Base:
    return Misspelled(arguments)


def test_the_session_goes_on_without_an_invalid_plugin_of_a_factory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The class behind a function is known only when the function has been called."""
    monkeypatch.setitem(plugins.REGISTRY, "acme", make_misspelled)
    conf = Conf(tiers=(*Conf().tiers, (PluginConf(name="acme"),)))
    with pytest.raises(PluginFailedError):
        check_conf(conf)
    world = World(queue(), nodes(1), gang("g", 1, cpu=1), conf=conf)
    (left_out,) = world.session().left_out
    assert left_out.plugin == "acme"
    assert left_out.why.startswith("InvalidPluginError: plugin 'acme': method 'job_order_kye'")
    assert world.bound("g") == 1


def test_the_readme_lists_every_method() -> None:
    readme = (Path(vc.scheduling.__file__).parent / "README.md").read_text()
    methods = [method for point in EXTENSION_POINTS for method in point.methods]
    assert [method for method in methods if f"`{method}`" not in readme] == []
