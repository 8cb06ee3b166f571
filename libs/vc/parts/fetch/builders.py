"""Executes recipes in a scratch folder: one function per kind of recipe."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from vc.model.faults import describe
from vc.parts.errors import BuildFailedError
from vc.parts.fetch.catalogue import Part
from vc.parts.fetch.recipes import GoModule, JavaClassPath
from vc.parts.fetch.toolchain import find_go, find_maven, unpack_wheel
from vc.parts.progress import Say, run_logged

JARS_FOLDER = "jars"
DOWNLOAD_SECONDS_MAX = 300.0


def build(part: Part, *, into: Path, log: Path, say: Say, env: Mapping[str, str]) -> None:
    """Build the part into the folder. On failure, the error names the log."""
    recipe = part.recipe
    title = f"{part.name} {part.version}"
    if isinstance(recipe, GoModule):
        build_go(recipe, title, into=into, log=log, say=say, env=env)
    elif isinstance(recipe, JavaClassPath):
        copy_jars(recipe, title, into=into, log=log, say=say, env=env)
    else:
        unpack_wheel(recipe, into=into, log=log, say=say)


def program_in(part: Part, folder: Path) -> Path:
    """The executable of a part, or the folder of jars for Java."""
    recipe = part.recipe
    if isinstance(recipe, JavaClassPath):
        return folder / JARS_FOLDER
    return folder / recipe.program


def go_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Without C, without downloading another toolchain, and `go get` may change our go.mod."""
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
    """Write our small module, let Go fetch its requirements, and compile it.

    Only the binary is kept.
    """
    go = str(find_go(recipe.go_version, say, env))
    source = into / "source"
    source.mkdir()
    (source / "go.mod").write_text(recipe.go_mod)
    if recipe.main_go:
        (source / "main.go").write_text(recipe.main_go)
    environment = go_environment(env)
    say(f"{title}: fetching Go modules")
    # Before `go get`, which would otherwise query the checksum database for every module.
    seed_checksums(go, recipe, source=source, log=log, env=environment)
    fetch = [go, "get", recipe.package]
    run_logged(fetch, cwd=source, log=log, what=f"{title}: fetching", say=say, env=environment)
    say(f"{title}: compiling")
    compile_ = recipe.build_command(go, str(into / recipe.program))
    run_logged(compile_, cwd=source, log=log, what=f"{title}: compiling", say=say, env=environment)
    # The cache should contain only what is needed to run the part.
    shutil.rmtree(source)


def seed_checksums(
    go: str, recipe: GoModule, *, source: Path, log: Path, env: Mapping[str, str]
) -> None:
    """Initialise our go.sum from that of the required module, which Go has just verified.

    Dependencies are then checked against what its authors built with. A proxy that cannot query the
    checksum database for one of several hundred modules does not stop the build.
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
    # Go reports where it has unpacked the verified module.
    checksums = Path(json.loads(done.stdout)["Dir"]) / "go.sum"
    if checksums.exists():
        (source / "go.sum").write_bytes(checksums.read_bytes())


def copy_jars(
    recipe: JavaClassPath, title: str, *, into: Path, log: Path, say: Say, env: Mapping[str, str]
) -> None:
    """Let Maven resolve the pom and copy every jar of its class path into one folder."""
    maven = str(find_maven(env))
    pom = into / "pom.xml"
    pom.write_text(recipe.pom)
    say(f"{title}: fetching jars through Maven")
    # Without terminal output: it goes to a log.
    command = [maven, "--batch-mode", "--no-transfer-progress", "--file", str(pom)]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={into / JARS_FOLDER}"]
    run_logged(command, cwd=into, log=log, what=f"{title}: Maven", say=say, env=dict(env))


def on_path(part: Part, env: Mapping[str, str]) -> Path | None:
    """The part as a program that is already installed on the machine."""
    if not part.path_program:
        return None
    found = shutil.which(part.path_program, path=env.get("PATH", os.defpath))
    return Path(found) if found else None
