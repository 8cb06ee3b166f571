"""Volcano's configuration file: what is accepted, what is refused and where, and which warnings there are."""

import logging
import re
from pathlib import Path

import pytest

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.world import World
from vc.scheduler.config import Config
from vc.scheduler.configuration.conf_source import ConfSource
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import ActionConf, Conf
from vc.scheduling.conf.volcano_file import ConfError, read_conf
from vc.scheduling.cycle import check_conf

HELM = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
    arguments:
      predicate.PodAffinityEnable: false
  - name: proportion
  - name: nodeorder
  - name: binpack
    arguments:
      binpack.weight: 10
      binpack.resources: nvidia.com/gpu
      binpack.resources.nvidia.com/gpu: 2
"""
"""The chart's default, with some arguments."""


def read(text: str) -> tuple[Conf, list[str]]:
    return read_conf(text, actions=tuple(actions.REGISTRY), plugins=tuple(plugins.REGISTRY))


def test_the_file_of_the_chart_is_understood() -> None:
    conf, warnings = read(HELM)
    assert conf.actions == ("enqueue", "allocate", "backfill")
    assert [[plugin.name for plugin in tier] for tier in conf.tiers] == [
        ["priority", "gang", "conformance"],
        ["overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack"],
    ]
    gang_conf = conf.tiers[0][1]
    assert not gang_conf.on("preemptable")
    assert gang_conf.on("reclaimable")
    assert conf.tiers[1][2].arguments == {"predicate.PodAffinityEnable": "false"}
    assert conf.tiers[1][5].arguments["binpack.weight"] == "10"
    assert warnings == []
    check_conf(conf)
    world = World(queue(), nodes(2), gang("g", 2, cpu=1), conf=conf)
    world.session()
    assert set(world.where().values()) == {"node-01"}, "binpack with weight 10 wins"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "must be a mapping"),
        ("a: [", "not YAML"),
        ("actions: 'enqueue, alocate'\ntiers: []", "actions: 'alocate' is not known"),
        ("actions: [enqueue]\ntiers: []", "actions: must be a list of names with commas"),
        ("actions: enqueue", "tiers: must be a list"),
        ("actions: enqueue\ntiers: []\ntires: []", "tires: not known"),
        ("actions: enqueue\ntiers:\n- plugins:\n  - name: gangs", "tiers[0].plugins[0]: plugin 'gangs' is not known"),
        ("actions: enqueue\ntiers:\n- plugins:\n  - gang", "tiers[0].plugins[0]: must be a mapping with a `name`"),
        ("actions: enqueue\ntiers:\n- plugins:\n  - name: gang\n    enableJobOder: true", "tiers[0].plugins[0].enableJobOder: no such switch"),
        ("actions: enqueue\ntiers:\n- plugins:\n  - name: gang\n    enableJobOrder: 'no'", "must be true or false"),
        ("actions: enqueue\ntiers:\n- plugins:\n  - name: gang\n    arguments: 7", "tiers[0].plugins[0].arguments: must be a mapping"),
        ("actions: enqueue\ntiers: []\nconfigurations: 7", "configurations: must be a list"),
        ("actions: enqueue\ntiers: []\nconfigurations:\n- enqueue", "configurations[0]: must be a mapping with a `name`"),
        ("actions: enqueue\ntiers: []\nconfigurations:\n- name: enqeue", "configurations[0]: action 'enqeue' is not known"),
        ("actions: enqueue\ntiers: []\nconfigurations:\n- name: enqueue\n  argument: {}", "configurations[0].argument: not known"),
        ("actions: enqueue\ntiers: []\nconfigurations:\n- name: enqueue\n  arguments: 7", "configurations[0].arguments: must be a mapping"),
        ("actions: enqueue\ntiers: []\nmetrics: prometheus", "metrics: must be a mapping"),
    ],
)  # fmt: skip
def test_problems_are_reported_with_their_place(text: str, where: str) -> None:
    with pytest.raises(ConfError) as caught:
        read(text)
    assert where in str(caught.value)


@pytest.mark.parametrize("spelling", ["enableJobOrder", "enabledJobOrder", "EnabledJobOrder"])
def test_switches_are_understood_in_both_spellings(spelling: str) -> None:
    text = f"actions: enqueue\ntiers:\n- plugins:\n  - name: gang\n  - name: priority\n    {spelling}: false"
    conf, _ = read(text)
    assert not conf.tiers[0][1].on("joborder")


def test_a_plugin_that_is_switched_off_is_not_asked() -> None:
    text = "actions: 'enqueue, allocate'\ntiers:\n- plugins:\n  - name: gang\n    enableJobReady: false\n  - name: predicates"
    conf, _ = read(text)
    world = World(queue(), nodes(1, cpu=4), gang("g", 6, cpu=1), conf=conf)
    decisions = world.decide()
    assert decisions.bound_pods == 4, "without gang a job starts in parts"


@pytest.mark.parametrize(
    ("actions_text", "names", "warned"),
    [
        ("allocate, reclaim", "gang, conformance | proportion", "upstream would never ask"),
        ("allocate, reclaim", "gang, predicates", "nothing will be reclaimed"),
        ("allocate", "gang, proportion, capacity", "the first one decides"),
        ("allocate", "predicates", "gang is off"),
        ("allocate, shuffle", "gang", "shuffle is not implemented"),
        ("enqueue", "gang, overcommit | sla", "sla after plugins that reject jobs"),
        ("allocate", "gang, tdm", "plugin tdm is not implemented"),
        ("allocate", "gang, binpack {binpack.resources: 'cpu, memory'}", "binpack without accelerators"),
    ],
)  # fmt: skip
def test_traps_are_warned_of(actions_text: str, names: str, warned: str) -> None:
    tiers = [
        "- plugins:\n" + "\n".join(_line(name) for name in re.split(r",(?![^{]*})", tier))
        for tier in names.split("|")
    ]
    _, warnings = read(f"actions: '{actions_text}'\ntiers:\n" + "\n".join(tiers))
    assert any(warned in warning for warning in warnings)


def _line(written: str) -> str:
    """A plugin of a tier, with its arguments behind its name."""
    name, _, arguments = written.strip().partition(" ")
    return f"  - name: {name}" + (f"\n    arguments: {arguments}" if arguments else "")


def test_arguments_of_actions_are_kept_and_warned_of_where_they_have_no_effect() -> None:
    text = (
        "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
        "configurations:\n- name: allocate\n  arguments: {predicateErrorCacheEnable: true}\n"
        "- name: gangpreempt\n  arguments: {maxDomains: 8}\n- name: backfill\n"
        "metrics: {type: prometheus, interval: 30s}\n"
    )
    conf, warnings = read(text)
    allocate = ActionConf(name="allocate", arguments={"predicateErrorCacheEnable": "true"})
    assert conf.configurations == (allocate, ActionConf(name="backfill"))
    assert conf.metrics == {"type": "prometheus", "interval": "30s"}
    assert warnings == [
        "configurations[1]: no effect: gangpreempt is not among the actions",
        "action allocate: argument 'predicateErrorCacheEnable' has no effect: it is not known; it takes surplusDelay",
        "metrics: 'interval' has no effect: no plugin here reads the usage of nodes",
        "metrics: 'type' has no effect: no plugin here reads the usage of nodes",
    ]


def with_arguments(plugin: str, arguments: str) -> str:
    return f"actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: {plugin}\n    arguments: {arguments}\n"


@pytest.mark.parametrize(
    ("plugin", "arguments", "warned"),
    [
        ("binpack", "{binpack.wieght: 10}",
         "plugin binpack: argument 'binpack.wieght' has no effect: it is not known; did you mean binpack.weight?"),
        ("nodeorder", "{LeastRequested.weight: 5}", "did you mean leastrequested.weight?"),
        ("gang", "{anything: 1}", "plugin gang: argument 'anything' has no effect: it is not known; it takes none"),
        ("binpack", "{binpack.weight: much}", "argument binpack.weight: 'much' is not a whole number from 0 to 10000; the default"),
        ("binpack", "{binpack.weight: -1}", "argument binpack.weight: '-1' is not a whole number"),
        ("overcommit", "{overcommit-factor: 0.5}", "argument overcommit-factor: '0.5' is not a number of 1 or more"),
        ("predicates", "{predicate.PodAffinityEnable: maybe}", "'maybe' is not true or false"),
        ("predicates", "{predicate.CacheEnable: true}", "argument 'predicate.CacheEnable' has no effect: equal pods"),
        ("sla", "{sla-waiting-time: soon}", "'soon' is not a duration such as 90s"),
        ("capacity", "{capacity.DynamicResourceAllocationEnable: true}", "dynamic resource allocation is not supported"),
    ],
)  # fmt: skip
def test_an_argument_without_effect_is_warned_of(plugin: str, arguments: str, warned: str) -> None:
    _, warnings = read(with_arguments(plugin, arguments))
    assert any(warned in warning for warning in warnings), warnings


@pytest.mark.parametrize(
    "arguments",
    [
        "{binpack.weight: 10000, binpack.resources: nvidia.com/gpu, binpack.resources.nvidia.com/gpu: 5000}",
        "{binpack.weight: 0}",
    ],
)
def test_known_arguments_give_no_warning(arguments: str) -> None:
    assert read(with_arguments("binpack", arguments))[1] == []


@pytest.mark.parametrize(
    ("plugin", "name"),
    [("binpack", "binpack.weight"), ("binpack", "binpack.resources.example.com/fpga"), ("nodeorder", "podaffinity.weight")],
)  # fmt: skip
def test_a_weight_above_the_limit_refuses_the_configuration(plugin: str, name: str) -> None:
    with pytest.raises(ConfError) as caught:
        read(with_arguments(plugin, f"{{{name}: 10001}}"))
    assert f"plugin {plugin}: argument {name}: 10001 is more than 10000" in str(caught.value)


def test_a_weight_above_a_thousand_is_not_cut() -> None:
    """Cut to 1,000 each, binpack and leastrequested would cancel out but for rounding."""
    text = (
        "actions: 'enqueue, allocate'\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n"
        "  - name: nodeorder\n    arguments: {leastrequested.weight: 1200, balancedresource.weight: 0}\n"
        "  - name: binpack\n    arguments: {binpack.weight: 5000}\n"
    )
    conf, warnings = read(text)
    assert warnings == []
    world = World(queue(), nodes(2), gang("g", 2, cpu=1), conf=conf)
    world.session()
    assert set(world.where().values()) == {"node-01"}


def test_a_changed_file_is_taken_over_and_a_wrong_one_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    source = ConfSource(Conf(), str(path), logging.getLogger("test-conf"))
    assert not source.look(), "a file that is not there leaves the default"
    path.write_text(HELM)
    assert source.look()
    assert source.conf.actions == ("enqueue", "allocate", "backfill")
    assert not source.look(), "nothing new"
    path.write_text("actions: nonsense\ntiers: []")
    assert not source.look()
    assert source.conf.actions == ("enqueue", "allocate", "backfill")
    assert "error=actions: 'nonsense' is not known" in caplog.text


def test_the_path_comes_from_the_environment() -> None:
    assert Config.from_env({"SCHEDULER_CONF": "some.conf"}).conf_path == "some.conf"


def test_the_default_runs_all_five_actions() -> None:
    conf = Conf()
    check_conf(conf)
    assert conf.actions == ("enqueue", "allocate", "preempt", "reclaim", "backfill")


@pytest.mark.parametrize(
    ("lines", "warned"),
    [
        ("  - name: gang\n    enablePreemptable: true", "preempt with `enablePreemptable: true` of gang"),
        ("  - name: gang\n    enabledVictim: true", "switch 'victim' has no effect here"),
    ],
)  # fmt: skip
def test_switches_that_are_traps_are_warned_of(lines: str, warned: str) -> None:
    _, warnings = read(f"actions: 'allocate, preempt'\ntiers:\n- plugins:\n{lines}")
    assert [warning for warning in warnings if warned in warning]


def test_sla_in_the_first_tier_and_drf_with_hierarchy_are_no_traps() -> None:
    text = (
        "actions: 'enqueue, allocate, reclaim'\ntiers:\n- plugins:\n  - name: gang\n"
        "    enableReclaimable: false\n  - name: sla\n- plugins:\n  - name: overcommit\n"
        "  - name: drf\n    enableHierarchy: true\n"
    )
    _, warnings = read(text)
    assert warnings == []
