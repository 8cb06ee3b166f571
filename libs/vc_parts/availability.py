"""May a test use a part now, without a long wait?

The tests' fixtures ask one function::

    reason = require_or_skip_reason("kafka")
    if reason:
        pytest.skip(reason)

- None means go on: the part is given, runs in a container, is on the machine or in the cache, or was got just now
  because that takes seconds (Redis' wheel, Kafka's jars).
- A sentence means skip: getting it takes minutes or is not possible here. It says how to get it.
- `PYROCLAST_REQUIRE=kafka,redis,kubernetes` turns a skip into work or failure: a required part is built,
  and when that fails the PartError goes through, so that the test errors instead of passing unseen.

A test that kills or restarts a server cannot use somebody else's: it asks with `own=True`, and an address or a
container does not count. When the part is given, such a test is skipped rather than required.

A long build must not run inside a test's time-out. A session that requires parts calls `obtain_required()` once
before the first test (`pytest_sessionstart`); after that, fixtures find everything in the cache.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from vc_parts import docker, getting
from vc_parts.catalogue import Part, part_named
from vc_parts.errors import PartError
from vc_parts.progress import Progress, Say
from vc_parts.recipes import JavaClassPath
from vc_parts.toolchain import find_maven

REQUIRE_KEY = "PYROCLAST_REQUIRE"


class Way(StrEnum):
    """How a part would come, from the cheapest way to none."""

    GIVEN = "given"
    CONTAINER = "container"
    MACHINE = "on PATH"
    CACHED = "cached"
    QUICK = "quick to get"
    SLOW = "slow to get"
    MISSING = "missing"


NOT_NOW = (Way.SLOW, Way.MISSING)
PROVIDED = (Way.GIVEN, Way.CONTAINER)
"""Nothing of ours is needed on the machine."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known about one part on this machine; the decision below looks at nothing else."""

    given: str = ""
    docker: bool = False
    found: getting.Source | None = None
    build_refusal: str = ""
    """Why this machine cannot build it; empty when it can."""


@dataclass(frozen=True, kw_only=True)
class Availability:
    """The way, and the sentence that explains it."""

    part: str
    way: Way
    why: str

    @property
    def is_now(self) -> bool:
        """True when a test may go on and use it."""
        return self.way not in NOT_NOW


def decide(part: Part, facts: Facts) -> Availability:
    """The order that holds for every part: given, container, machine or cache, build, none."""
    way, why = _way(part, facts)
    return Availability(part=part.name, way=way, why=why)


def _way(part: Part, facts: Facts) -> tuple[Way, str]:
    if facts.given:
        return Way.GIVEN, f"{facts.given} ({', '.join(part.given_by)})"
    if part.in_container and facts.docker:
        return Way.CONTAINER, "a Docker engine answers"
    if facts.found is getting.Source.MACHINE:
        return Way.MACHINE, f"{part.path_program} is on PATH"
    if facts.found:
        return Way.CACHED, f"version {part.version} is in the cache"
    if facts.build_refusal:
        return Way.MISSING, f"{part.name} is missing: {facts.build_refusal}"
    if part.is_slow:
        minutes = max(1, round(part.build_seconds / 60))
        return Way.SLOW, (
            f"{part.name} is missing and takes about {minutes} min to build: {part.hint}."
        )
    return Way.QUICK, f"about {part.build_seconds} s from a package registry"


def given_address(part: Part, env: Mapping[str, str]) -> str:
    """The address from the environment, or empty; all the part's variables must be set.

    Kubernetes is careful: a plain KUBECONFIG may be somebody's production cluster, so it counts only when
    PYROCLAST_TEST_KUBECONFIG names a file itself or is 1, which means "the one in KUBECONFIG".
    """
    values = [env.get(key, "") for key in part.given_by]
    if not values or not all(values):
        return ""
    if values == ["1"]:
        return env.get("KUBECONFIG", "")
    return values[0]


def look(part: Part, env: Mapping[str, str], *, own: bool = False) -> Facts:
    """Gathers the facts; quick, and without side effects."""
    given = "" if own else given_address(part, env)
    found = None if given else getting.find(part.name, env=env)
    in_docker = part.in_container and not own and not given and docker.docker_answers()
    return Facts(
        given=given,
        docker=in_docker,
        found=found.source if found else None,
        build_refusal=_build_refusal(part, env),
    )


def _build_refusal(part: Part, env: Mapping[str, str]) -> str:
    if not isinstance(part.recipe, JavaClassPath):
        return ""  # Go and the wheels come through pip when nothing else is here
    try:
        find_maven(env)
    except PartError as error:
        return str(error)
    return ""


def availability_of(
    name: str, *, env: Mapping[str, str] | None = None, own: bool = False
) -> Availability:
    """How the part would come; a part that needs others is as available as the worst of them."""
    environment = os.environ if env is None else env
    part = part_named(name)
    found = decide(part, look(part, environment, own=own))
    if found.way is Way.GIVEN:
        return found
    for needed in part.needs:
        other = availability_of(needed, env=environment)
        if not other.is_now and found.is_now:
            return Availability(part=name, way=other.way, why=other.why)
    return found


def required_parts(env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names in PYROCLAST_REQUIRE; an unknown one is an error, not a requirement nobody checks."""
    environment = os.environ if env is None else env
    names = [name.strip() for name in environment.get(REQUIRE_KEY, "").split(",")]
    return tuple(part_named(name).name for name in names if name)


def require_or_skip_reason(
    name: str, *, own: bool = False, env: Mapping[str, str] | None = None, say: Say | None = None
) -> str | None:
    """None when a test may use the part, else the sentence to skip with; see the module's docstring."""
    environment = os.environ if env is None else env
    found = availability_of(name, env=environment, own=own)
    if found.way in PROVIDED:
        return None
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
    """The part and what it cannot run without, needs first."""
    needs = [getting.obtain(needed, say=say, env=env) for needed in part_named(name).needs]
    return needs + [getting.obtain(name, say=say, env=env)]


def obtain_required(
    *, say: Say | None = None, env: Mapping[str, str] | None = None
) -> list[Availability]:
    """Builds what PYROCLAST_REQUIRE names and is not here yet; called once, before the first test."""
    environment = os.environ if env is None else env
    ready = []
    for name in required_parts(environment):
        found = availability_of(name, env=environment)
        if found.way not in PROVIDED:
            obtain_with_needs(name, say=say or Progress(), env=environment)
        ready.append(found)
    return ready
