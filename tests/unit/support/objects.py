"""Objects that carry the sample of an entry of the table, and what the real logic says of them."""

import copy
import re
from typing import Any, Final

import msgspec

from tests.unit.admission.objects import ask, job, queue, template, world
from tests.unit.scheduling.objects import gang, nodes
from tests.unit.scheduling.objects import queue as queue_row
from tests.unit.scheduling.world import World, reason_of
from tests.unit.validation.kinds import cron, flow, hypernode, member
from vc.admission.logic.webhook.wire import ReviewResponse
from vc.jobs.podgroup import podgroup_spec
from vc.jobs.pods.pod_maker import PodMaker
from vc.messages.sessions import Reason, Stage
from vc.model.api.graft import to_json
from vc.model.api.job import Job
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.model.support import Answer, Case, Entry
from vc.scheduling import actions, plugins
from vc.scheduling.conf.volcano_file import read_conf

PATHS: Final = {
    "Job": "/jobs/validate",
    "CronJob": "/cronjobs/validate",
    "JobFlow": "/jobflows/validate",
    "JobTemplate": "/jobtemplates/validate",
    "PodGroup": "/podgroups/validate",
    "Queue": "/queues/validate",
    "HyperNode": "/hypernodes/validate",
    "Pod": "/pods/validate",
}
KNOWN: Final = world()


def plain(kind: str) -> JsonObject:
    """A small valid object of a kind."""
    made: dict[str, JsonObject] = {
        "Job": job(),
        "CronJob": cron(),
        "JobFlow": flow({"name": "a"}),
        "JobTemplate": {"metadata": {"name": "t"}, "spec": job()["spec"]},
        "PodGroup": {"metadata": {"name": "g"}, "spec": {"minMember": 2, "queue": "default"}},
        "Queue": queue("q"),
        "HyperNode": hypernode(member({"exactMatch": {"name": "n"}})),
        "Pod": {"metadata": {"name": "p"}, "spec": {"schedulerName": "volcano", **template()["spec"]}},
    }  # fmt: skip
    found = copy.deepcopy(made[kind])
    found["metadata"].pop("annotations", None)
    return found


def put(written: JsonObject, path: str, value: Any) -> JsonObject:
    """The object with a value at a path of the table; lists get one member where they have none."""
    if not path:
        metadata = {**written["metadata"], **value.get("metadata", {})}
        return {**written, **value, "metadata": metadata}
    inner: Any = written
    steps = path.split(".")
    for at, step in enumerate(steps):
        name, is_list, is_last = step.removesuffix("[]"), step.endswith("[]"), at == len(steps) - 1
        if is_last:
            inner[name] = [value] if is_list else value
        elif is_list:
            inner = inner.setdefault(name, [{}])[0]
        else:
            inner = inner.setdefault(name, {})
    return written


def sample_of(entry: Entry, case: Case, kind: str) -> JsonObject:
    """An object of the kind that has the sample of a case."""
    written = plain(kind)
    if entry.scope == "Label or annotation":
        written["metadata"]["annotations"] = {entry.path: case.sample}
        return written
    if entry.path.endswith("partitionPolicy.networkTopology"):
        policy = {"totalPartitions": 2, "partitionSize": 1}
        put(written, "spec.tasks[].partitionPolicy", policy)
    if entry.path.endswith("spec.subGroupPolicy[].networkTopology"):
        put(written, "spec.subGroupPolicy[]", {"name": "s"})
    if entry.path == "spec.tasks[].partitionPolicy":
        written["spec"]["minAvailable"] = 1
    if ".policies[]." in entry.path:
        at, _, field = entry.path.rpartition(".")
        value = [case.sample] if field == "events" else case.sample
        return put(written, at, {field: value, "action": "RestartJob"})
    return put(written, entry.path, case.sample)


def admitted(kind: str, written: JsonObject) -> ReviewResponse:
    """What admission answers."""
    return ask(PATHS[kind], written, KNOWN)


def said(response: ReviewResponse, answer: Answer, text: str) -> bool:
    """Whether admission gave the promised answer."""
    start = re.sub(r"\s+", " ", text)[:60]
    if answer is Answer.REFUSED:
        return not response.allowed and start in response.message
    return response.allowed and any(start in warning for warning in response.warnings)


def scheduled(kind: str, written: JsonObject) -> Reason:
    """Why the scheduler leaves a gang waiting that has this PodGroup, pod or queue."""
    head, *pods = gang("g", 2, cpu=1)
    objects: list[ApiObject] = [queue_row("default"), *nodes(2), head, *pods]
    changed: list[ApiObject] = []
    kinds: dict[str, type[ApiObject]] = {"PodGroup": PodGroup, "Pod": Pod, "Queue": Queue}
    of_kind = kinds[kind]
    for known in objects:
        raw = msgspec.to_builtins(known)
        if isinstance(known, of_kind):
            notes = written["metadata"].get("annotations", {})
            old = raw["metadata"].get("annotations", {})
            raw["metadata"]["annotations"] = {**notes, **old}
            fields = {k: v for k, v in written["spec"].items() if k not in raw["spec"]}
            raw["spec"] = {**raw["spec"], **fields}
            known = msgspec.convert(raw, of_kind)
        changed.append(known)
    there = World(*changed)
    decisions = there.session()
    assert not there.bound("g"), f"{kind} was bound"
    return reason_of(decisions, "g")


def is_unsupported(reason: Reason, text: str) -> bool:
    """Whether the reason names what the table says."""
    return reason.stage is Stage.UNSUPPORTED and text[:60] in reason.sentence


def made_of(written: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The PodGroup and the first pod that the job-controller makes of a job."""
    made = msgspec.convert(written, Job)
    spec = podgroup_spec(made, made.spec.tasks, {"cpu": "2"})
    first = PodMaker(made, made.spec.tasks[0], [], group="g", forwarded=False).make(0)
    return {"metadata": {}, "spec": to_json(spec)}, first.body


def warnings_of(written: str) -> list[str]:
    """What the scheduler has to say of a configuration."""
    return read_conf(written, actions=tuple(actions.REGISTRY), plugins=tuple(plugins.REGISTRY))[1]
