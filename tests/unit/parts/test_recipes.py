"""Versions, go.mod texts, command lines and cache keys of the recipes."""

from dataclasses import replace
from pathlib import Path

import pytest

from vc.parts.errors import PartError
from vc.parts.fetch import go_modules
from vc.parts.fetch.cache import cache_key, cache_root
from vc.parts.fetch.catalogue import (
    GO_WHEEL,
    JAVA_WHEEL,
    KAFKA_POM,
    KAFKA_VERSION,
    PARTS,
    part_named,
)
from vc.parts.fetch.recipes import GoModule, JavaClassPath, Recipe, Wheel
from vc.parts.fetch.toolchain import is_at_least

GO_RECIPES = [part.recipe for part in PARTS.values() if isinstance(part.recipe, GoModule)]
ALL_RECIPES: list[Recipe] = [part.recipe for part in PARTS.values()] + [JAVA_WHEEL, GO_WHEEL]


def test_kubernetes_replaces_every_staging_module_by_its_published_version() -> None:
    text = go_modules.kubernetes("1.35.4").go_mod
    assert "require k8s.io/kubernetes v1.35.4" in text
    for module in go_modules.STAGING_MODULES:
        assert f"replace k8s.io/{module} => k8s.io/{module} v0.35.4\n" in text


def test_kubernetes_reports_its_version_so_that_kubectl_believes_it() -> None:
    flags = go_modules.kubernetes("1.35.4").ldflags
    assert "-X k8s.io/component-base/version.gitVersion=v1.35.4" in flags
    assert "-X k8s.io/component-base/version.gitMinor=35" in flags


def test_build_command_keeps_to_two_compilers_and_drops_symbols_and_paths() -> None:
    command = go_modules.etcd("3.6.5").build_command("/go", "/out/etcd")
    assert command[:2] == ["/go", "build"]
    assert command[command.index("-p") + 1] == "2"
    assert "-trimpath" in command
    assert command[command.index("-ldflags") + 1].startswith("-s -w")
    assert command[-1] == "."


def test_commands_inside_a_module_are_built_by_their_import_path() -> None:
    recipe = go_modules.kwok("0.8.0")
    assert recipe.main_go == ""
    assert recipe.build_command("go", "kwok")[-1] == "sigs.k8s.io/kwok/cmd/kwok"


@pytest.mark.parametrize("recipe", GO_RECIPES, ids=lambda recipe: recipe.program)
def test_a_go_module_requires_exactly_one_module_with_a_version(recipe: GoModule) -> None:
    requires = [line for line in recipe.go_mod.splitlines() if line.startswith("require ")]
    assert requires == ["require " + recipe.module.replace("@", " ")]
    assert bool(recipe.main_go) == (recipe.package == ".")


def test_the_pom_names_the_broker_and_its_logging() -> None:
    assert f"<version>{KAFKA_VERSION}</version>" in KAFKA_POM
    assert "log4j-slf4j-impl" in KAFKA_POM


@pytest.mark.parametrize("text", [KAFKA_POM] + [recipe.go_mod for recipe in GO_RECIPES])
def test_no_registry_host_or_machine_path_is_in_a_recipe(text: str) -> None:
    for forbidden in ("proxy.", "repo.", "pypi.org", "/root" + "/", "/home/"):
        assert forbidden not in text


def test_the_key_has_version_and_platform_and_changes_with_the_recipe() -> None:
    recipe = go_modules.etcd("3.6.5")
    changed = replace(recipe, main_go=recipe.main_go + "// another")
    assert cache_key("3.6.5", recipe).startswith("3.6.5-")
    assert cache_key("3.6.5", recipe) == cache_key("3.6.5", go_modules.etcd("3.6.5"))
    assert cache_key("3.6.5", recipe) != cache_key("3.6.5", changed)


def test_no_two_recipes_share_a_fingerprint() -> None:
    assert len({recipe.fingerprint() for recipe in ALL_RECIPES}) == len(ALL_RECIPES)


@pytest.mark.parametrize(
    ("env", "root"),
    [
        ({"PYROCLAST_PARTS_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, Path("/c")),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/pyroclast/parts")),
        ({}, Path.home() / ".cache/pyroclast/parts"),
    ],
    ids=["our own variable wins", "then the user's cache", "then ~/.cache"],
)
def test_cache_root(env: dict[str, str], root: Path) -> None:
    assert cache_root(env) == root


@pytest.mark.parametrize(
    ("printed", "oldest", "enough"),
    [
        ("go version go1.26.8 linux/amd64", "1.25", True),
        ("go version go1.24.1 linux/amd64", "1.25", False),
        ("go version go1.25 linux/amd64", "1.25", True),
        ('openjdk version "17.0.15" 2025-04-15', "17", True),
        ('java version "1.8.0_412"', "17", False),
        ('openjdk version "25" 2025-09-16', "17", True),
        ("", "17", False),
    ],
)
def test_a_tool_on_path_counts_when_it_is_new_enough(
    printed: str, oldest: str, enough: bool
) -> None:
    assert is_at_least(printed, oldest) is enough


def test_an_unknown_part_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(PartError, match=r"'zookeeper'; the parts are kafka, redis"):
        part_named("zookeeper")


def test_each_kind_of_recipe_is_in_use() -> None:
    assert {type(recipe) for recipe in ALL_RECIPES} == {GoModule, JavaClassPath, Wheel}
