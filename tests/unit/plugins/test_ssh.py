"""What ssh answers: one key pair a job, who may read it, and keys of the user."""

import base64

import msgspec
import pytest

from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import SECRET, TRAINING, answer, of_task, owned, request, ssh
from vc.jobplugin.answers import Decorated, ObjectReference
from vc.jobs.pods.decoration import decorate
from vc.messages.effects import CreateObject, PatchObject, RecordEvent
from vc.messages.plugins import TaskDecoration
from vc.messages.redaction import redact
from vc.model.api.kinds import JOBS, SECRETS
from vc.plugin_ssh.keypairs import make_key_pair


def secret_data(decorated: Decorated) -> dict[str, str]:
    (made,) = [e for e in decorated.effects if isinstance(e, CreateObject)]
    return {k: base64.b64decode(v).decode() for k, v in made.body["data"].items()}


def test_ssh_makes_one_pair_and_mounts_it_for_root_only() -> None:
    made: list[str] = []
    decorated = answer(ssh(made), "--ssh-port=2222")
    assert made == ["ed25519"]
    data = secret_data(decorated)
    assert (data["id_ed25519"], data["authorized_keys"]) == ("PRIVATE", "PUBLIC\n")
    assert "Host j-worker-1\n  HostName j-worker-1.j\n  Port 2222\n" in data["config"]
    volume = of_task(decorated, "worker").volumes[0]["secret"]
    assert volume["defaultMode"] == 0o600
    assert of_task(decorated, "worker").mounts[0]["mountPath"] == "/root/.ssh"


def test_keys_that_are_there_stay_and_only_hosts_are_brought_in_step() -> None:
    made: list[str] = []
    decorated = answer(ssh(made), found={SECRET: owned(data={"config": "old"})})
    assert made == []
    (patch,) = decorated.effects
    assert isinstance(patch, PatchObject)
    assert list(patch.patch["data"]) == ["config"]


def test_rsa_by_flag_and_another_path() -> None:
    made: list[str] = []
    decorated = answer(ssh(made), "--ssh-key-type=rsa", "--ssh-key-file-path=/home/u/.ssh")
    assert made == ["rsa"]
    assert "IdentityFile /home/u/.ssh/id_rsa" in secret_data(decorated)["config"]


@pytest.mark.parametrize(
    ("security", "group"),
    [({}, 1000), ({"runAsGroup": 7}, 7), ({"runAsGroup": 7, "fsGroup": 9}, 9)],
    ids=["nothing said", "the group it runs as", "the group of its files"],
)
def test_another_user_reads_keys_through_the_group_of_the_pod_only(
    security: dict[str, int], group: int
) -> None:
    template = {"spec": {"securityContext": security, "containers": []}}
    of = job(tasks=[msgspec.structs.replace(task("worker", 1), template=template)])
    decorated = of_task(answer(ssh(), "--ssh-key-file-path=/home/u/.ssh", of=of), "worker")
    assert decorated.volumes[0]["secret"]["defaultMode"] == 0o440
    assert decorated.fs_group == group


def test_the_group_of_files_is_set_unless_the_user_chose_one() -> None:
    spec: dict[str, object] = {"securityContext": {"runAsUser": 5}}
    decorate(spec, [TaskDecoration(fs_group=1000)])
    assert spec["securityContext"] == {"runAsUser": 5, "fsGroup": 1000}
    decorate(spec, [TaskDecoration(fs_group=2)])
    assert spec["securityContext"] == {"runAsUser": 5, "fsGroup": 1000}


def test_a_secret_of_the_user_is_used_as_it_is() -> None:
    mine = ObjectReference(SECRETS, "ns", "mine")
    decorated = answer(ssh(), "--ssh-secret=mine", found={mine: {"data": {"id_rsa": ""}}})
    assert decorated.effects == ()
    assert of_task(decorated, "worker").volumes[0]["secret"]["secretName"] == "mine"
    assert "no such Secret" in answer(ssh(), "--ssh-secret=gone").problem


def test_a_key_in_arguments_is_read_from_the_job_itself_and_warned_about() -> None:
    arguments = ["--ssh-private-key=MINE", "--ssh-public-key=PUB"]
    live = {"metadata": {"uid": "job-1"}, "spec": {"plugins": {"ssh": arguments}}}
    asked = request(TRAINING, *redact(arguments))
    core = ssh()
    reference = ObjectReference(JOBS, "ns", "j")
    assert reference in core.looks_at(asked)
    decorated = core.decorate(asked, {reference: live})
    assert secret_data(decorated)["id_rsa"] == "MINE"
    assert [e.reason for e in decorated.effects if isinstance(e, RecordEvent)] == ["KeyInArguments"]


@pytest.mark.parametrize("argument", ["--ssh-key-type=dsa", "--ssh-private-key=K", "--ssh-port=0"])
def test_what_ssh_cannot_do_is_a_problem(argument: str) -> None:
    assert answer(ssh(), argument).problem


def test_real_keys_are_what_ssh_reads() -> None:
    pair = make_key_pair("ed25519")
    assert pair.private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert pair.public.startswith("ssh-ed25519 ")
    assert "BEGIN" not in repr(pair)
    assert make_key_pair("rsa").private.startswith("-----BEGIN RSA PRIVATE KEY-----")
