"""Decides whether a test can use a part now, without a long wait.

The fixtures of tests call one function::

    reason = require_or_skip_reason("kafka")
    if reason:
        pytest.skip(reason)

- None means that the test can run: the part is given, runs in a container, is installed or cached,
  or was just obtained because that takes only seconds (Redis' wheel, Kafka's jars).
- A sentence means skip: getting the part takes minutes or is not possible here. The sentence says
  how to get it.
- `PYROCLAST_REQUIRE=kafka,redis,kubernetes` replaces a skip by a build. If the build fails, the
  PartError is raised, so that the test fails instead of being skipped unnoticed.

A test that kills or restarts a server cannot use a shared one. It passes `own=True`, and a given
address or a container does not count. If the part is given, such a test is skipped rather than
required.

A long build must not run inside a test's time-out. A session that requires parts calls
`obtain_required()` once before the first test (`pytest_sessionstart`); after that, fixtures find
everything in the cache.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from vc.parts import docker
from vc.parts.errors import PartError
from vc.parts.fetch import getting
from vc.parts.fetch.catalogue import Part, part_named
from vc.parts.fetch.recipes import JavaClassPath
from vc.parts.fetch.toolchain import find_maven
from vc.parts.progress import Progress, Say

REQUIRE_KEY = "PYROCLAST_REQUIRE"


class Way(StrEnum):
    """How a part can be obtained, from the cheapest way to none."""

    GIVEN = "given"
    CONTAINER = "container"
    MACHINE = "on PATH"
    CACHED = "cached"
    QUICK = "quick to get"
    SLOW = "slow to get"
    MISSING = "missing"


NOT_NOW = (Way.SLOW, Way.MISSING)
PROVIDED = (Way.GIVEN, Way.CONTAINER)
"""Ways that need nothing of ours on the machine."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known about one part on this machine. The decision depends on nothing else."""

    given: str = ""
    docker: bool = False
    found: getting.Source | None = None
    build_refusal: str = ""
    """Why this machine cannot build the part. Empty if it can."""


@dataclass(frozen=True, kw_only=True)
class Availability:
    """The way, and the sentence that explains it."""

    part: str
    way: Way
    why: str

    @property
    def is_now(self) -> bool:
        """Whether a test can use the part now."""
        return self.way not in NOT_NOW


def decide(part: Part, facts: Facts) -> Availability:
    """Choose the way in the order that holds for all parts: given, container, installed or cached,
    build, none.
    """
    way, why = _way(part, facts)
    return Availability(part=part.name, way=way, why=why)


def _way(part: Part, facts: Facts) -> tuple[Way, str]:
    if facts.given:
        return Way.GIVEN, f"{facts.given} ({', '.join(part.given_by)})"
    # A container is preferred to a build, because it needs no toolchain on the machine.
    if part.in_container and facts.docker:
        return Way.CONTAINER, "a Docker engine answers"
    if facts.found is getting.Source.MACHINE:
        return Way.MACHINE, f"{part.path_program} is on PATH"
    if facts.found:
        return Way.CACHED, f"version {part.version} is in the cache"
    # A part that cannot be built is missing, however quick its build would be.
    if facts.build_refusal:
        return Way.MISSING, f"{part.name} is missing: {facts.build_refusal}"
    if part.is_slow:
        minutes = max(1, round(part.build_seconds / 60))
        return Way.SLOW, (
            f"{part.name} is missing and takes about {minutes} min to build: {part.hint}."
        )
    return Way.QUICK, f"about {part.build_seconds} s from a package registry"


def given_address(part: Part, env: Mapping[str, str]) -> str:
    """The address from the environment, or empty. All variables of the part must be set.

    A plain KUBECONFIG may belong to a production cluster. It is used only if
    PYROCLAST_TEST_KUBECONFIG is 1; otherwise that variable itself names the file.
    """
    values = [env.get(key, "") for key in part.given_by]
    if not values or not all(values):
        return ""
    if values == ["1"]:
        return env.get("KUBECONFIG", "")
    return values[0]


def look(part: Part, env: Mapping[str, str], *, own: bool = False) -> Facts:
    """Collect the facts. This is quick and has no side effects."""
    given = "" if own else given_address(part, env)
    found = None if given else getting.find(part.name, env=env)
    # The engine is contacted only if its answer matters.
    in_docker = part.in_container and not own and not given and docker.docker_answers()
    return Facts(
        given=given,
        docker=in_docker,
        found=found.source if found else None,
        build_refusal=_build_refusal(part, env),
    )


def _build_refusal(part: Part, env: Mapping[str, str]) -> str:
    if not isinstance(part.recipe, JavaClassPath):
        return ""  # pip provides Go and the wheels if they are not installed
    try:
        find_maven(env)
    except PartError as error:
        return str(error)
    return ""


def availability_of(
    name: str, *, env: Mapping[str, str] | None = None, own: bool = False
) -> Availability:
    """How the part can be obtained. Its availability is limited by the parts it needs."""
    environment = os.environ if env is None else env
    part = part_named(name)
    found = decide(part, look(part, environment, own=own))
    # A given server brings what it needs, for example its own etcd.
    if found.way is Way.GIVEN:
        return found
    for needed in part.needs:
        other = availability_of(needed, env=environment)
        # The worse of both decides, because neither is of use without the other.
        if not other.is_now and found.is_now:
            return Availability(part=name, way=other.way, why=other.why)
    return found


def required_parts(env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names in PYROCLAST_REQUIRE. An unknown name is an error, because nothing would check
    it.
    """
    environment = os.environ if env is None else env
    names = [name.strip() for name in environment.get(REQUIRE_KEY, "").split(",")]
    return tuple(part_named(name).name for name in names if name)


def require_or_skip_reason(
    name: str, *, own: bool = False, env: Mapping[str, str] | None = None, say: Say | None = None
) -> str | None:
    """None if a test can use the part, else the sentence to skip with. See the module docstring."""
    environment = os.environ if env is None else env
    found = availability_of(name, env=environment, own=own)
    if found.way in PROVIDED:
        return None
    # With a given server, a test that needs its own one is skipped even if the part is required.
    provided = availability_of(name, env=environment).way in PROVIDED
    required = name in required_parts(environment) and not provided
    if not found.is_now and not required:
        return found.why
    try:
        obtain_with_needs(name, say=say or Progress(), env=environment)
    except PartError as error:
        if required:
            raise
        return str(error)
    return None


def obtain_with_needs(
    name: str, *, say: Say, env: Mapping[str, str] | None = None
) -> list[getting.Obtained]:
    """Obtain the part and the parts it needs, needed parts first."""
    needs = [getting.obtain(needed, say=say, env=env) for needed in part_named(name).needs]
    return needs + [getting.obtain(name, say=say, env=env)]


def obtain_required(
    *, say: Say | None = None, env: Mapping[str, str] | None = None
) -> list[Availability]:
    """Build the parts of PYROCLAST_REQUIRE that are not available.

    Called once, before the first test.
    """
    environment = os.environ if env is None else env
    ready = []
    # All builds run before the first test, where no test's time-out applies.
    for name in required_parts(environment):
        found = availability_of(name, env=environment)
        if found.way not in PROVIDED:
            obtain_with_needs(name, say=say or Progress(), env=environment)
        ready.append(found)
    return ready
