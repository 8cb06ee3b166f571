"""Carries out a recipe in a scratch folder: one function per kind of recipe."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from vc_model.faults import describe
from vc_parts.catalogue import Part
from vc_parts.errors import BuildFailedError
from vc_parts.progress import Say, run_logged
from vc_parts.recipes import GoModule, JavaClassPath
from vc_parts.toolchain import find_go, find_maven, unpack_wheel

JARS_FOLDER = "jars"
DOWNLOAD_SECONDS_MAX = 300.0


def build(part: Part, *, into: Path, log: Path, say: Say, env: Mapping[str, str]) -> None:
    """Fills the folder with the part, or raises a sentence that names the log."""
    recipe = part.recipe
    title = f"{part.name} {part.version}"
    if isinstance(recipe, GoModule):
        build_go(recipe, title, into=into, log=log, say=say, env=env)
    elif isinstance(recipe, JavaClassPath):
        copy_jars(recipe, title, into=into, log=log, say=say, env=env)
    else:
        unpack_wheel(recipe, into=into, log=log, say=say)


def program_in(part: Part, folder: Path) -> Path:
    """What one starts: an executable, or for Java the folder of jars."""
    recipe = part.recipe
    if isinstance(recipe, JavaClassPath):
        return folder / JARS_FOLDER
    return folder / recipe.program


def go_environment(env: Mapping[str, str]) -> dict[str, str]:
    """No C, no download of another toolchain, and `go get` may write the requirements into our go.mod."""
    return {
        **env,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=mod -buildvcs=false",
        "GOWORK": "off",
    }


def build_go(
    recipe: GoModule, title: str, *, into: Path, log: Path, say: Say, env: Mapping[str, str]
) -> None:
    """Writes our small module, lets Go fetch what it requires, compiles it; only the binary stays."""
    go = str(find_go(recipe.go_version, say, env))
    source = into / "source"
    source.mkdir()
    (source / "go.mod").write_text(recipe.go_mod)
    if recipe.main_go:
        (source / "main.go").write_text(recipe.main_go)
    environment = go_environment(env)
    say(f"{title}: fetching Go modules")
    seed_checksums(go, recipe, source=source, log=log, env=environment)
    fetch = [go, "get", recipe.package]
    run_logged(fetch, cwd=source, log=log, what=f"{title}: fetching", say=say, env=environment)
    say(f"{title}: compiling")
    compile_ = recipe.build_command(go, str(into / recipe.program))
    run_logged(compile_, cwd=source, log=log, what=f"{title}: compiling", say=say, env=environment)
    shutil.rmtree(source)


def seed_checksums(
    go: str, recipe: GoModule, *, source: Path, log: Path, env: Mapping[str, str]
) -> None:
    """Starts our go.sum from the one inside the required module, which Go has just verified.

    So its dependencies are checked against what its authors built with, and a proxy that does not know the
    checksum database's answer for one of several hundred modules does not stop the build.
    """
    command = [go, "mod", "download", "-json", recipe.module]
    with log.open("ab") as errors:
        try:
            done = subprocess.run(
                command,
                cwd=source,
                env=dict(env),
                stdout=subprocess.PIPE,
                stderr=errors,
                timeout=DOWNLOAD_SECONDS_MAX,
                check=True,
            )
        except (subprocess.SubprocessError, OSError) as error:
            raise BuildFailedError(
                f"{recipe.module} cannot be downloaded ({describe(error)}); the log is {log}."
            ) from error
    checksums = Path(json.loads(done.stdout)["Dir"]) / "go.sum"
    if checksums.exists():
        (source / "go.sum").write_bytes(checksums.read_bytes())


def copy_jars(
    recipe: JavaClassPath, title: str, *, into: Path, log: Path, say: Say, env: Mapping[str, str]
) -> None:
    """Maven resolves the pom and copies every jar of its class path into one folder."""
    maven = str(find_maven(env))
    pom = into / "pom.xml"
    pom.write_text(recipe.pom)
    say(f"{title}: fetching jars through Maven")
    command = [maven, "--batch-mode", "--no-transfer-progress", "--file", str(pom)]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={into / JARS_FOLDER}"]
    run_logged(command, cwd=into, log=log, what=f"{title}: Maven", say=say, env=dict(env))


def on_path(part: Part, env: Mapping[str, str]) -> Path | None:
    """The part as a program that the machine has anyway."""
    if not part.path_program:
        return None
    found = shutil.which(part.path_program, path=env.get("PATH", os.defpath))
    return Path(found) if found else None
