"""Requests to plugins, and what is read out of their answers."""

from typing import Any

import msgspec

from tests.unit.job_controller.builders import job, task
from vc.jobplugin.answers import Core, Decorated, Found, ObjectReference
from vc.jobs.pods.decoration import IndexMarks, decorate
from vc.messages.plugins import PluginRequest, TaskDecoration
from vc.model.api.job import Job, TaskSpec
from vc.model.api.kinds import SECRETS
from vc.plugin_ssh.logic import SshKeyPair
from vc.plugin_ssh.service import SshCore

TRAINING = job("Pending", tasks=[task("master", 1), task("worker", 2)])


def request(of: Job = TRAINING, *arguments: str, verb: str = "apply") -> PluginRequest:
    return PluginRequest(verb=verb, plugin="p", arguments=list(arguments), job=of, spec_hash="h")


def answer(
    core: Core, *arguments: str, of: Job = TRAINING, found: Found | None = None
) -> Decorated:
    return core.decorate(request(of, *arguments), found or {})


def of_task(decorated: Decorated, name: str) -> TaskDecoration:
    assert decorated.problem == ""
    assert decorated.decoration is not None
    return decorated.decoration.tasks[name]


def variables(decorated: Decorated, name: str) -> dict[str, object]:
    return {
        v.name: v.value if v.index_plus is None else f"index+{v.index_plus}"
        for v in of_task(decorated, name).env
        if v.value_from is None
    }


def with_containers(name: str, replicas: int, *containers: str) -> TaskSpec:
    """A task whose pods have these containers."""
    spec: dict[str, Any] = {"containers": [{"name": c, "args": ["mine"]} for c in containers]}
    return msgspec.structs.replace(task(name, replicas), template={"spec": spec})


def decorated_spec(decorated: Decorated, of: TaskSpec, index: int) -> dict[str, Any]:
    """The spec of one pod of the task after decoration."""
    spec: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(of.template["spec"]))
    decorate(spec, [of_task(decorated, of.name)])
    return IndexMarks(spec).filled(index)


def owned(
    uid: str = "job-1",
    *,
    group: str = "batch.volcano.sh/v1alpha1",
    kind: str = "Job",
    controls: bool = True,
    **content: object,
) -> dict[str, object]:
    owner = {"apiVersion": group, "kind": kind, "name": "j", "uid": uid, "controller": controls}
    return {
        "metadata": {"uid": "x", "resourceVersion": "7", "ownerReferences": [owner]},
        **content,
    }


SECRET = ObjectReference(SECRETS, "ns", "j-ssh")
PAIR = SshKeyPair(private="PRIVATE", public="PUBLIC\n")


def ssh(made: list[str] | None = None) -> SshCore:
    def make(key_type: str) -> SshKeyPair:
        if made is not None:
            made.append(key_type)
        return PAIR

    return SshCore(make)
