"""A deployment under test: all services as processes on their ground, with a witness beside them.

A scenario submits jobs, hurts something, waits, and asks for a `verdict`. The verdict is the same for
all: nothing lost, doubled, over-committed or partial, no retry, `/invariants` clean, at the end and at
every look while the fault was under way.
"""

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.audit import Audit
from tests.e2e.ground import Ground
from tests.e2e.lives import ServiceLives
from tests.e2e.promises import Promises
from tests.e2e.workload import pods_in
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.accounts import install
from vc.cli.pyroclast.stack.plan import Addresses, environment_of
from vc.clock import LoopClock
from vc.cluster import AlreadyExistsError, ClusterError, NotFoundError
from vc.cluster.kubernetes import KubernetesCluster, connect
from vc.model.api.job import Job
from vc.model.api.kinds import CONFIGMAPS, JOBS, NETWORKPOLICIES, PODGROUPS, PODS, SECRETS
from vc.model.api.kinds import SERVICES as SERVICE_OBJECTS
from vc.model.api.meta import ApiObject
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import http_get

NAMESPACE = "default"
READY_SECONDS_MAX = 90.0
POLL_SECONDS = 0.5
SUBMIT_SECONDS_MAX = 90.0
"""Admission may be dead at that moment, and jobs are refused until it is back."""
CLEAN_SECONDS_MAX = 120.0
COUNTED = ("doubled", "over-committed", "partial", "retried")
"""What a scenario's line tells besides what was lost: nothing is, or it would still wait."""
OWNED = (PODS, PODGROUPS, SERVICE_OBJECTS, CONFIGMAPS, SECRETS, NETWORKPOLICIES)
"""What a job's end must leave none of."""


class Deployment:
    """Every service as a process, their servers, and who watches them."""

    def __init__(self, home: Path, *, real: bool) -> None:
        self.home = home
        self.ground = Ground(home=home, real=real)
        self.clock = LoopClock()
        self.services: dict[str, ServiceLives] = {}
        self.chosen: tuple[str, ...] = tuple(SERVICES)
        """Who is started."""
        self.otlp = ""
        """Where traces go; nowhere unless it is set before the start."""
        self.logins: dict[str, dict[str, str]] = {}
        """Variables that replace the login of single services at Kafka and Redis."""
        self.cluster: KubernetesCluster
        self.audit: Audit
        self._dashboard = f"http://{LOOPBACK}:0"
        self._addresses: Addresses
        self._watching: list[asyncio.Task[None]] = []
        self.promises = Promises(self.invariants)
        self.submitted: dict[str, str] = {}
        """Uid by name, of the jobs of the present scenario."""
        self._sizes: dict[str, int] = {}

    # -- start and stop --------------------------------------------------------------------------

    async def start(self) -> None:
        await self.ground.start()
        kubeconfig = str(self.ground.kubeconfig)
        self.cluster = await connect(service="e2e", kubeconfig=kubeconfig, environment={})
        self.audit = Audit(self.cluster)
        self._watching.append(asyncio.create_task(self.audit.run()))
        port = free_port()
        self._dashboard = f"http://{LOOPBACK}:{port}"
        admission_port = free_port()
        self._addresses = Addresses(
            kafka=self.ground.kafka.bootstrap_servers,
            redis=self.ground.redis.url,
            kubeconfig=kubeconfig,
            accounts=await self._accounts(admission_port),
            otlp=self.otlp,
            dashboard_port=port,
            admission_port=admission_port,
        )
        for name in self.chosen:
            self.run_service(name)
        await self.ready()
        if "dashboard" in self.chosen:
            self._watching.append(asyncio.create_task(self.promises.run()))

    async def _accounts(self, admission_port: int) -> dict[str, str]:
        """On a real API server each service has its own account and its own rights alone."""
        if not self.ground.real:
            return {}
        return await asyncio.to_thread(
            install,
            self.ground.kubeconfig,
            self.chosen,
            folder=self.home / "accounts",
            admission_port=admission_port,
        )

    def kubeconfig_of(self, service: str) -> Path:
        """What the service proves itself with."""
        return Path(self._addresses.accounts.get(service, self._addresses.kubeconfig))

    def run_service(
        self, service: str, *, instance: str = "", kubeconfig: Path | None = None
    ) -> ServiceLives:
        """Start a replica; a second one of a service needs an instance name of its own."""
        instance = instance or service
        addresses = self._addresses
        if kubeconfig is not None:
            accounts = {**addresses.accounts, service: str(kubeconfig)}
            addresses = dataclasses.replace(addresses, accounts=accounts)
        port = free_port()
        env = environment_of(service, addresses, health_port=port, inherited=os.environ)
        env |= self.ground.login_of(service) | self.logins.get(service, {})
        lives = ServiceLives(
            service, instance=instance, env=env, port=port, logs=self.home / "logs"
        )
        self.services[instance] = lives
        lives.start()
        return lives

    async def stop_service(self, instance: str) -> None:
        await self.services.pop(instance).stop()

    async def stop(self) -> None:
        for task in self._watching:
            task.cancel()
        if self._watching:
            await asyncio.gather(*self._watching, return_exceptions=True)
            await self.cluster.close()
        await asyncio.gather(*(lives.stop() for lives in self.services.values()))
        await self.ground.stop()

    async def ready(self) -> None:
        """Wait until every service says that it can work."""

        async def all_ready() -> str:
            reasons = await asyncio.gather(*(s.unready() for s in self.services.values()))
            late = zip(self.services, reasons, strict=True)
            return "; ".join(f"{name}: {why}" for name, why in late if why)

        await self.until(all_ready, seconds_max=READY_SECONDS_MAX)

    async def until(self, missing: Callable[[], Awaitable[str]], *, seconds_max: float) -> float:
        """Wait until nothing is missing any more; the seconds it took."""
        started = self.clock.monotonic()
        while True:
            try:
                why = await missing()
            except ClusterError as error:
                why = f"the API server says {error}"
            waited = self.clock.monotonic() - started
            if not why:
                return waited
            if waited > seconds_max:
                pytest.fail(f"not within {seconds_max:.0f} s: {why}; logs: {self.home}/logs")
            await asyncio.sleep(POLL_SECONDS)

    # -- jobs ------------------------------------------------------------------------------------

    async def submit(self, manifest: Mapping[str, Any]) -> str:
        """Create a job as a patient user does; gives its uid."""
        name: str = manifest["metadata"]["name"]
        uid = ""

        async def refused() -> str:
            nonlocal uid
            try:
                made = await self.cluster.create(JOBS, dict(manifest), namespace=NAMESPACE)
            except AlreadyExistsError:
                made = await self.cluster.get(JOBS, name=name, namespace=NAMESPACE)
            uid = made["metadata"]["uid"]
            return ""

        await self.until(refused, seconds_max=SUBMIT_SECONDS_MAX)
        self.submitted[name] = uid
        self._sizes[name] = self.audit.sizes[uid] = pods_in(manifest)
        return uid

    async def jobs(self) -> dict[str, Job]:
        """Every job there is, by name."""
        page = await self.cluster.list(JOBS, namespace=NAMESPACE)
        found = [msgspec.json.decode(raw, type=Job) for raw in page.items]
        return {job.metadata.name: job for job in found}

    async def unfinished(self, names: Collection[str] = ()) -> list[str]:
        """Submitted jobs that are not completed yet, each with its phase."""
        jobs = await self.jobs()
        wanted = names or self.submitted
        phases = {
            name: jobs[name].status.state.phase if name in jobs else "gone" for name in wanted
        }
        return [
            f"{name} {phase or 'new'}" for name, phase in phases.items() if phase != "Completed"
        ]

    async def completed(self, *, seconds_max: float, names: Collection[str] = ()) -> float:
        """Wait until all are; the seconds it took."""

        async def late() -> str:
            waiting = await self.unfinished(names)
            return f"{len(waiting)} jobs: {', '.join(waiting[:5])}" if waiting else ""

        return await self.until(late, seconds_max=seconds_max)

    # -- what must hold --------------------------------------------------------------------------

    async def invariants(self) -> dict[str, Any]:
        """What the dashboard says; empty when it does not answer."""
        answer = await http_get(f"{self._dashboard}/invariants")
        found: dict[str, Any] = msgspec.json.decode(answer.body) if answer.status == 200 else {}
        return found

    async def verdict(self, scenario: str, *, faults: str, since: float) -> None:
        """Ask every question, print one line, then leave the deployment clean."""
        await self.ready()
        await self._witnessed()
        wrong = await self._wrong()
        found = {what: len(names) for what, names in wrong.items() if what in COUNTED}
        took = self.clock.monotonic() - since
        print(
            f"\n{scenario}: {faults}; {len(self.submitted)} jobs, {sum(self._sizes.values())} pods: "
            f"0 lost, {', '.join(f'{count} {what}' for what, count in found.items())}; a gang was "
            f"in the making for {self.audit.partial_seconds_longest:.1f} s at most; "
            f"{self.promises}; {took:.0f} s",
            flush=True,
        )
        self._looked()
        named = {what: names for what, names in wrong.items() if names}
        assert not named, f"{scenario}: {named}; logs: {self.home}/logs"
        await self.clean()

    def _looked(self) -> None:
        """Whoever watches for us did so; a look that fails is not a look that finds nothing."""
        for task in self._watching:
            assert not task.done(), f"{task.get_coro()} has ended"
        assert self.promises.looks["fresh"], f"nobody looked at a fresh view: {self.promises}"

    async def _wrong(self) -> dict[str, list[str]]:
        """Everything that must not be, by what it is called."""
        jobs = await self.jobs()
        found = {name: jobs[name].status for name in self.submitted}
        return {
            "doubled": self.audit.doubled,
            "over-committed": self.audit.over_committed,
            "partial": self.audit.partial(self.submitted.values()),
            "retried": [name for name, status in found.items() if status.retry_count],
            "miscounted": [n for n, status in found.items() if status.succeeded != self._sizes[n]],
            "invariants broken": await self._broken_invariants(),
            "invariants broken meanwhile": self.promises.broken,
            "raised inside": [name for name, each in self.services.items() if each.faults()],
            "ended by itself": [end for each in self.services.values() for end in each.own_ends],
        }

    async def _witnessed(self) -> None:
        """Until the witness has seen all pods of all jobs end."""

        async def unseen() -> str:
            uids = set(self.submitted.values())
            late = [uid for uid in uids if self.audit.bound_of(uid) < self.audit.sizes[uid]]
            return f"pods of {len(late)} jobs were never seen bound" if late else ""

        await self.until(unseen, seconds_max=READY_SECONDS_MAX)

    async def _broken_invariants(self) -> list[str]:
        """What `/invariants` names, from a view that is fresh."""
        seen: dict[str, Any] = {}

        async def stale() -> str:
            nonlocal seen
            seen = await self.invariants()
            return str(seen["stale"]) if seen else "the dashboard does not answer"

        await self.until(stale, seconds_max=READY_SECONDS_MAX)
        return [str(each["violations"]) for each in seen["invariants"] if not each["holds"]]

    # -- leaving nothing -------------------------------------------------------------------------

    async def clean(self) -> None:
        """Delete all jobs; whatever of theirs is left then is an orphan."""
        for name in await self.jobs():
            await self.delete(name)

        async def left() -> str:
            found = [f"Job {name}" for name in await self.jobs()]
            for kind in OWNED:
                page = await self.cluster.list(kind, namespace=NAMESPACE)
                objects = [msgspec.json.decode(raw, type=ApiObject) for raw in page.items]
                owned = [each for each in objects if each.metadata.owner_references]
                found += [f"{kind.kind} {each.metadata.name}" for each in owned]
            return f"{len(found)} left: {', '.join(found[:5])}" if found else ""

        await self.until(left, seconds_max=CLEAN_SECONDS_MAX)
        self.submitted.clear()
        self._sizes.clear()
        self.audit.forget()
        self.promises.forget()
        for lives in self.services.values():
            lives.own_ends.clear()

    async def delete(self, name: str) -> None:
        """As `kubectl delete` does, without waiting."""
        try:
            await self.cluster.delete(
                JOBS, name=name, namespace=NAMESPACE, propagation="Background"
            )
        except NotFoundError:
            return
