"""Boundaries where objects are projected, applied to views and decided on, one by one."""

import functools
import logging
import random
from typing import Any, Final

import msgspec
import yaml

from tests.builders.contexts import memory_context
from tests.proofs.containment.inputs import flipped, manifest_of, mutated, named
from tests.proofs.containment.messages import STAMP
from tests.unit.scheduling.objects import gang, node, queue
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.wire import ReviewError, answer, parse_review
from vc.cli.manifests import ManifestError, read_manifests
from vc.job_controller.logic import ObservedJob
from vc.job_controller.logic import decide as decide_job
from vc.job_controller.logic.podgroup import choose_podgroup
from vc.job_controller.ownership import Ownership
from vc.messages.view import Change
from vc.model.api import kinds
from vc.model.api.job import Command, Job
from vc.model.api.kinds import WATCHED, Kind
from vc.model.api.kubernetes import Workload
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.podgroup_controller.config import Config as PodGroupConfig
from vc.podgroup_controller.logic import Observed as ObservedPods
from vc.podgroup_controller.service import PodGroupController
from vc.queue_controller.logic import Observed as ObservedQueues
from vc.queue_controller.logic import decide as decide_queues
from vc.scheduling import actions, plugins
from vc.scheduling.cache.cluster_cache import KINDS, ClusterCache
from vc.scheduling.conf.model import Conf
from vc.scheduling.conf.volcano_file import ConfError, read_conf
from vc.scheduling.cycle import run_cycle
from vc.usage_ledger.logic.ledger import UsageLedger
from vc.validation.offline import validate_documents
from vc.validation.world import World as AdmissionWorld
from vc.watcher.facts import Facts
from vc.watcher.logic import Bare, Decoder, Index

NOW: Final = 1_800_000_000.0
_log: Final = logging.getLogger("pyroclast.proof")


def project(rng: random.Random, count: int) -> int:
    """The watcher's projection of each kind, and the message that is made of it."""
    for _ in range(count):
        facts = _facts(rng.choice(WATCHED))
        raw = msgspec.json.encode(mutated(rng, manifest_of(facts.kind)))
        if rng.random() < 0.4:
            raw = flipped(rng, raw)
        found = facts.decode(raw)
        if found is not None and not isinstance(found, Bare):
            facts.messages_of(found, listed=True)
    return count


@functools.cache
def _facts(kind: Kind) -> Facts:
    return Facts(memory_context("proof"), Index(kind, stamp=STAMP))


@functools.cache
def _decoder(kind: Kind) -> Decoder:
    return Decoder(kind)


def odd_object(rng: random.Random, kind: Kind, number: int = 0) -> ApiObject | None:
    """One that passes the projection, as the bus brings it; None when it does not."""
    body = named(mutated(rng, manifest_of(kind)), f"odd-{number}", f"uid-{number}")
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and kind.namespaced:
        metadata["namespace"] = "default"
    try:
        obj = _decoder(kind).decode(msgspec.json.encode(body))
    except Exception:  # noqa: BLE001 - that is `project`
        return None
    return obj if obj.metadata.name else None  # no view takes one without (`object_of`)


def change(kind: Kind, before: ApiObject | None, after: ApiObject | None) -> Change:
    obj = after or before
    assert obj is not None
    return Change(kind=kind, key=obj.key, partition=0, before=before, after=after)


# -- scheduler ---------------------------------------------------------------------------------------


def schedule(rng: random.Random, count: int) -> int:
    """A session over a sound cluster among odd objects: the sound gang is placed, whatever they are."""
    cache = ClusterCache(("volcano",))
    for sound in _sound():
        cache.apply(change(_KIND_OF[type(sound)], None, sound))
    known: dict[tuple[str, str], ApiObject] = {}
    for number in range(count):
        kind = rng.choice((*KINDS, kinds.PODS, kinds.PODS, kinds.PODGROUPS))
        obj = odd_object(rng, kind, rng.randrange(max(1, count // 2)))
        if obj is None:
            continue
        place = (kind.short, obj.key)
        cache.apply(change(kind, known.get(place), obj))
        known[place] = obj
        if number % 7 == 0:
            cache.apply(change(kind, known.pop(place), None))
    for _ in range(2):
        decisions = run_cycle(cache.snapshot("1-1", now=NOW), _conf(), NOW)
        _check(decisions)
    for (short, _key), obj in list(known.items()):
        cache.apply(change(_BY_SHORT[short], obj, None))
    _check(run_cycle(cache.snapshot("1-2", now=NOW), _conf(), NOW))
    return count


def _check(decisions: Any) -> None:
    faults = [fault for fault in decisions.left_out if not fault.group]
    assert not faults, f"left out: {faults}"
    assert not [f for f in decisions.left_out if f.group == "ns/sound"], "the sound gang was blamed"
    refused = [r for r in decisions.reasons if r.group == "ns/sound"]
    assert all(r.reason.stage.value != "invalid" for r in refused), refused


_KIND_OF: Final[dict[type, Kind]] = {kind.type: kind for kind in KINDS}
_BY_SHORT: Final = {kind.short: kind for kind in KINDS}


@functools.cache
def _sound() -> tuple[ApiObject, ...]:
    return (queue("sound"), *(node(f"n{n}") for n in range(3)), *gang("sound", 2, queue="sound"))


@functools.cache
def _conf() -> Conf:
    conf, _ = read_conf(
        CONF, actions=tuple(sorted(actions.REGISTRY)), plugins=tuple(sorted(plugins.REGISTRY))
    )
    return conf


CONF: Final = """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}, {name: sla}]
- plugins:
  - {name: overcommit, arguments: {overcommit-factor: 1.2}}
  - {name: drf}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder, arguments: {leastrequested.weight: 1}}
  - {name: binpack, arguments: {binpack.weight: 2, binpack.cpu: 1}}
configurations: [{name: allocate, arguments: {}}]
"""


def configure(rng: random.Random, count: int) -> int:
    """The scheduler's ConfigMap."""
    written = msgspec.json.encode(yaml.safe_load(CONF))
    for _ in range(count):
        if rng.random() < 0.5:
            text = flipped(rng, CONF.encode()).decode(errors="replace")
        else:
            try:
                text = yaml.safe_dump(mutated(rng, msgspec.json.decode(written)))
            except RecursionError:
                text = "[" * 2_000
        try:
            read_conf(
                text,
                actions=tuple(sorted(actions.REGISTRY)),
                plugins=tuple(sorted(plugins.REGISTRY)),
            )
        except ConfError:
            continue
    return count


# -- controllers -------------------------------------------------------------------------------------


def control_jobs(rng: random.Random, count: int) -> int:
    """Everything of one job is odd: belongings, the choice of its group, the decision."""
    problems = _context("job-controller").problems
    for number in range(count):
        belongings = Ownership()
        seen: dict[str, list[ApiObject]] = {"jobs": []}
        for kind in (
            kinds.JOBS,
            kinds.PODGROUPS,
            kinds.PODS,
            kinds.PODS,
            kinds.COMMANDS,
            kinds.QUEUES,
        ):
            obj = odd_object(rng, kind, number)
            if obj is not None:
                seen.setdefault(kind.short, []).append(obj)
                belongings.take(change(kind, None, obj))
        for job in seen["jobs"]:
            assert isinstance(job, Job)
            with problems.contain("decide", kinds.JOBS, job.key):
                pods = tuple(p for p in seen.get("pods", []) if isinstance(p, Pod))
                groups = tuple(g for g in seen.get("podgroups", []) if isinstance(g, PodGroup))
                group, superfluous = choose_podgroup(job, groups, pods)
                queues = [q for q in seen.get("queues", []) if isinstance(q, Queue)]
                decide_job(
                    ObservedJob(
                        job=job, pods=pods, podgroup=group, superfluous_podgroups=superfluous,
                        commands=tuple(c for c in seen.get("commands", []) if isinstance(c, Command)),
                        queue=queues[0] if queues else None,
                    ),
                    now=NOW,
                )  # fmt: skip
    return count


def control_groups(rng: random.Random, count: int) -> int:
    """Pods and their controllers, by the podgroup-controller's own shell."""
    service = _podgroup_controller()
    for number in range(count):
        found = [odd_object(rng, kinds.PODS, number) for _ in range(2)]
        pods = tuple(pod for pod in found if isinstance(pod, Pod))
        owner = odd_object(rng, kinds.REPLICASETS, number)
        group = odd_object(rng, kinds.PODGROUPS, number)
        for kind, obj in (
            (kinds.REPLICASETS, owner),
            (kinds.PODGROUPS, group),
            *((kinds.PODS, p) for p in pods),
        ):
            if obj is not None:
                service._index_change(change(kind, None, obj))
                service._index_change(change(kind, obj, None))
        seen = ObservedPods(
            pods=pods,
            owner=owner if isinstance(owner, Workload) else None,
            podgroup=group if isinstance(group, PodGroup) else None,
        )
        if pods:
            service._decide(seen)
    return count


@functools.cache
def _podgroup_controller() -> PodGroupController:
    return PodGroupController(_context("podgroup-controller"), PodGroupConfig())


def control_queues(rng: random.Random, count: int) -> int:
    """Queues, commands and groups together; usage of pods."""
    objects = [
        odd_object(rng, rng.choice((kinds.QUEUES, kinds.PODGROUPS, kinds.COMMANDS)), number)
        for number in range(count)
    ]
    decide_queues(
        ObservedQueues(
            queues=tuple(o for o in objects if isinstance(o, Queue)),
            groups=tuple(o for o in objects if isinstance(o, PodGroup)),
            commands=tuple(o for o in objects if isinstance(o, Command)),
        ),
        left_out=[],
    )
    problems = _context("queue-controller").problems
    ledger = UsageLedger(scheduler_names=("volcano",))
    for number in range(count):
        pod = odd_object(rng, kinds.PODS, number)
        if isinstance(pod, Pod):
            with problems.contain("apply", kinds.PODS, pod.key):
                ledger.observe(pod, now=NOW)
                ledger.observe_deleted(pod.metadata.uid, now=NOW)
    return 2 * count


@functools.cache
def _context(name: str) -> Any:
    return memory_context(name)


# -- admission and manifests -------------------------------------------------------------------------


def admit(rng: random.Random, count: int) -> int:
    """Reviews of each kind; every one is answered."""
    world = AdmissionWorld()
    for _ in range(count):
        endpoint = rng.choice(ENDPOINTS)
        obj = mutated(rng, manifest_of(endpoint.kind))
        request: JsonObject = {
            "uid": "u", "operation": rng.choice(("CREATE", "UPDATE", "DELETE")),
            "kind": {"group": endpoint.kind.group, "version": endpoint.kind.version,
                     "kind": endpoint.kind.kind},
            "name": "odd", "namespace": "default", "object": obj,
            "oldObject": mutated(rng, manifest_of(endpoint.kind)),
        }  # fmt: skip
        body: JsonObject = {
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
        }  # fmt: skip
        raw = msgspec.json.encode(mutated(rng, body) if rng.random() < 0.1 else body)
        if rng.random() < 0.1:
            raw = flipped(rng, raw)
        try:
            asked = parse_review(raw, endpoint=endpoint)
        except ReviewError:
            continue
        answer(asked, review(asked, world, endpoint=endpoint))
    return count


def read_files(rng: random.Random, count: int, folder: Any) -> int:
    """Files that vcctl and pyroclast are given, and the rules that `vcctl validate` applies to them."""
    file = folder / "odd.yaml"
    for _ in range(count):
        kind = rng.choice(ENDPOINTS).kind
        body = mutated(rng, manifest_of(kind))
        try:
            raw = yaml.safe_dump(body, allow_unicode=True).encode(errors="replace")
        except RecursionError:
            raw = msgspec.json.encode(body)
        if rng.random() < 0.4:
            raw = flipped(rng, raw)
        file.write_bytes(raw)
        try:
            documents = read_manifests([file])
        except ManifestError:
            continue
        validate_documents(documents)
    return count
