"""Each answer about the scheduler's configuration comes from the real reader of configurations."""

import pytest

from tests.unit.support.objects import warnings_of
from vc.model.support import Answer
from vc.model.support.configuration import (
    ABSENT_ACTIONS,
    ABSENT_PLUGINS,
    ARGUMENTS,
    EFFECTIVE_SWITCHES,
    IDLE_SWITCHES,
    OWN_ACTIONS,
    TOP_KEYS,
    Argument,
)
from vc.model.support.nearest import nearest
from vc.scheduling.conf.volcano_file import ConfError

PLAIN = "actions: 'enqueue, allocate'\ntiers:\n- plugins:\n  - name: gang\n"
IDLE = [argument for argument in ARGUMENTS if argument.case.answer is Answer.WARNING]
EFFECTIVE = [argument for argument in ARGUMENTS if argument.case.answer is Answer.EFFECT]
VALUES = {"delay": "500ms", "factor": "1.5", "duration": "1h", "names": "example.com/fpga"}


def with_argument(argument: Argument, name: str) -> str:
    value = VALUES.get(argument.kind.name.lower(), "1")
    if argument.owner in OWN_ACTIONS:
        return (
            f"{PLAIN}configurations:\n- name: {argument.owner}\n  arguments: {{{name}: {value}}}\n"
        )
    return f"{PLAIN}  - name: {argument.owner}\n    arguments: {{{name}: {value}}}\n"


def _id(argument: Argument) -> str:
    return f"{argument.owner} {argument.name}"


def test_a_plain_configuration_has_nothing_to_be_said_of() -> None:
    assert warnings_of(PLAIN) == []


@pytest.mark.parametrize("argument", IDLE, ids=_id)
def test_an_argument_without_effect_gives_its_warning(argument: Argument) -> None:
    (warning,) = warnings_of(with_argument(argument, argument.name))
    assert warning.endswith(f"argument {argument.name!r} {argument.case.text}")


@pytest.mark.parametrize("argument", EFFECTIVE, ids=_id)
def test_an_argument_with_an_effect_gives_none_and_a_misspelt_one_names_it(
    argument: Argument,
) -> None:
    name = argument.name.replace("<name>", "example.com/fpga")
    assert warnings_of(with_argument(argument, name)) == []
    if argument.prefix:
        return
    wrong = argument.name[:-1] + "q"
    (warning,) = warnings_of(with_argument(argument, wrong))
    assert f"argument {wrong!r} has no effect: it is not known; did you mean" in warning


@pytest.mark.parametrize("name", ABSENT_ACTIONS)
def test_an_absent_action_is_left_out_with_a_warning(name: str) -> None:
    assert any(name in w for w in warnings_of(PLAIN.replace("allocate", f"allocate, {name}")))
    told = warnings_of(f"{PLAIN}configurations:\n- name: {name}\n")
    assert any(name in warning for warning in told)


@pytest.mark.parametrize("name", ABSENT_PLUGINS)
def test_an_absent_plugin_is_left_out_with_a_warning(name: str) -> None:
    assert any(name in warning for warning in warnings_of(f"{PLAIN}  - name: {name}\n"))


@pytest.mark.parametrize("switch", sorted(IDLE_SWITCHES))
def test_a_switch_without_effect_gives_a_warning(switch: str) -> None:
    told = warnings_of(f"{PLAIN}    enable{switch}: false\n")
    assert any(switch in w and IDLE_SWITCHES[switch] in w for w in told)


@pytest.mark.parametrize("switch", EFFECTIVE_SWITCHES)
def test_a_switch_with_an_effect_gives_none(switch: str) -> None:
    told = warnings_of(f"{PLAIN}    enabled{switch}: false\n")
    assert not any("has no effect" in warning for warning in told)


def test_keys_without_effect_give_a_warning() -> None:
    idle = [key for key, case in TOP_KEYS.items() if case.answer is Answer.WARNING]
    assert idle == ["metrics"]
    assert any("metrics" in w for w in warnings_of(f"{PLAIN}metrics: {{type: prometheus}}\n"))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"{PLAIN}configuration: []\n", "did you mean configurations?"),
        (f"{PLAIN}  - name: binpak\n", "did you mean binpack?"),
        (f"{PLAIN}    enableJobOder: true\n", "did you mean joborder?"),
        (PLAIN.replace("allocate", "alocate"), "did you mean allocate?"),
    ],
)
def test_what_is_not_known_is_refused_with_the_nearest_name(text: str, hint: str) -> None:
    with pytest.raises(ConfError) as caught:
        warnings_of(text)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("written", "meant"), [("wieght", "weight"), ("WEIGHT", "weight"), ("zzz", ""), ("", "")]
)
def test_the_nearest_name(written: str, meant: str) -> None:
    assert nearest(written, ["weight", "cpu"]) == meant
