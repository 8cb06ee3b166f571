"""`gangpreempt` and `gangreclaim`: what they mean, beside which actions they run once, and their arguments."""

from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, node, priority_class, queue
from tests.unit.scheduling.world import World
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import ActionConf, Conf
from vc.scheduling.conf.volcano_file import ConfError, read_conf
from vc.scheduling.cycle import check_conf

TIERS = (
    "\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n    enablePreemptable: false\n"
    "    enableReclaimable: false\n- plugins:\n  - name: predicates\n  - name: proportion\n"
)


def read(actions_text: str, configurations: str = "", tiers: str = TIERS) -> tuple[Conf, list[str]]:
    text = f"actions: '{actions_text}'{tiers}"
    if configurations:
        text += f"configurations:\n{configurations}\n"
    return read_conf(text, actions=tuple(actions.REGISTRY), plugins=tuple(plugins.REGISTRY))


@dataclass(frozen=True)
class Case:
    id: str
    written: str
    runs: tuple[str, ...]
    warned: tuple[str, ...] = ()


CASES = [
    Case("by their names alone", "enqueue, allocate, gangpreempt, gangreclaim", ("enqueue", "allocate", "preempt", "reclaim")),
    Case("in their order", "gangreclaim, allocate, gangpreempt", ("reclaim", "allocate", "preempt")),
    Case("with ours: once, where the first stands", "allocate, preempt, backfill, gangpreempt", ("allocate", "preempt", "backfill"),
         ("actions: preempt and gangpreempt are one action here: it runs once, as preempt",)),
    Case("before ours: the same", "gangreclaim, allocate, reclaim", ("reclaim", "allocate"),
         ("actions: gangreclaim and reclaim are one action here: it runs once, as gangreclaim",)),
    Case("an action written twice by one name runs twice", "allocate, preempt, allocate", ("allocate", "preempt", "allocate")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_gang_actions_are_ours(case: Case) -> None:
    conf, warnings = read(case.written)
    assert conf.actions == case.runs
    assert tuple(w for w in warnings if "one action" in w) == case.warned
    assert not any("not implemented" in warning for warning in warnings)
    check_conf(conf)


def test_a_configuration_with_gangpreempt_evicts() -> None:
    """It used to mean no eviction at all."""
    conf, _ = read("enqueue, allocate, gangpreempt")
    classes = [priority_class("low", 1), priority_class("high", 9)]
    world = World(queue(), node("n", cpu=4), classes, conf=conf)
    world.put(*gang("low", 4, cpu=1, priority_class="low"))
    world.session()
    world.put(*gang("high", 4, cpu=1, priority_class="high"))
    decisions = world.session()
    assert [eviction.group for eviction in decisions.evictions] == ["ns/high"]


def test_a_configuration_with_gangreclaim_reclaims() -> None:
    conf, _ = read("enqueue, allocate, gangreclaim")
    world = World(queue("a"), queue("b"), node("n", cpu=4), conf=conf)
    for number in range(4):
        world.put(*gang(f"a{number}", 1, cpu=1, queue="a"))
    world.session()
    world.put(*gang("b", 2, cpu=1, queue="b"))
    assert [eviction.group for eviction in world.session().evictions] == ["ns/b"]


@pytest.mark.parametrize(
    ("name", "switch"), [("gangpreempt", "preemptable"), ("gangreclaim", "reclaimable")]
)
@pytest.mark.parametrize("allowed", [True, False])
def test_whole_gangs_may_be_kept(*, name: str, switch: str, allowed: bool) -> None:
    arguments = f"- name: {name}\n  arguments: {{allowWholeBundle: {str(allowed).lower()}}}"
    conf, warnings = read(f"allocate, {name}", arguments)
    gang_conf = next(plugin for plugin in conf.plugins if plugin.name == "gang")
    assert gang_conf.switches[switch] is (not allowed)
    assert conf.configurations == ()
    kept = [warning for warning in warnings if "beyond their minimum" in warning]
    assert bool(kept) is not allowed


def test_max_domains_is_warned_of_and_others_are_kept() -> None:
    arguments = "- name: gangpreempt\n  arguments: {maxDomains: 4, other: 1}"
    conf, warnings = read("allocate, gangpreempt", arguments)
    assert conf.configurations == (ActionConf(name="preempt", arguments={"other": "1"}),)
    assert "configurations[0]: maxDomains has no effect: there is no network topology" in warnings
    assert any("action preempt: argument 'other' has no effect" in each for each in warnings)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ("{maxDomains: none}", "configurations[0].arguments.maxDomains: 'none': must be a whole number above 0"),
        ("{maxDomains: 0}", "configurations[0].arguments.maxDomains: 0: must be"),
        ("{allowWholeBundle: 'maybe'}", "configurations[0].arguments.allowWholeBundle: 'maybe': must be true or false"),
        ("7", "configurations[0].arguments: must be a mapping"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_used_are_refused(arguments: str, where: str) -> None:
    with pytest.raises(ConfError) as caught:
        read("allocate, gangpreempt", f"- name: gangpreempt\n  arguments: {arguments}")
    assert where in str(caught.value)


def test_keeping_gangs_needs_the_plugin_gang() -> None:
    arguments = "- name: gangreclaim\n  arguments: {allowWholeBundle: false}"
    tiers = "\ntiers:\n- plugins:\n  - name: predicates\n"
    with pytest.raises(ConfError, match="needs the plugin gang"):
        read("allocate, gangreclaim", arguments, tiers)


def test_an_action_of_that_name_of_a_third_party_is_theirs() -> None:
    text = f"actions: 'allocate, gangpreempt'{TIERS}"
    known = (*actions.REGISTRY, "gangpreempt")
    conf, _ = read_conf(text, actions=known, plugins=tuple(plugins.REGISTRY))
    assert conf.actions == ("allocate", "gangpreempt")
