"""What plugins do in upstream mode, and on jobs that were made under the other setting."""

import base64

import pytest

from tests.unit.job_controller.builders import UID, job, owner, task
from tests.unit.plugins.requests import TRAINING, answer, of_task
from vc.jobplugin.answers import ObjectReference
from vc.jobplugin.config import PluginConfig
from vc.messages.effects import CreateObject, PatchObject
from vc.model.api.graft import to_json
from vc.model.api.kinds import CONFIGMAPS, SECRETS
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat
from vc.plugin_ssh.keypairs import make_key_pair
from vc.plugin_ssh.service import SshCore
from vc.plugin_svc.logic import SvcCore, host_lists


def owned(name: str, data: dict[str, str]) -> JsonObject:
    metadata = {"name": name, "namespace": "ns", "uid": "there", "ownerReferences": [to_json(owner(UID))]}  # fmt: skip
    return {"metadata": metadata, "data": data}


def created(decorated: object, kind: object) -> JsonObject:
    effects = decorated.effects  # type: ignore[attr-defined]  # a Decorated
    (made,) = [e for e in effects if isinstance(e, CreateObject) and e.kind is kind]
    body: JsonObject = made.body
    return body


def test_the_setting_comes_from_the_environment() -> None:
    assert PluginConfig.from_env({}).compat is Compat.LENIENT
    assert PluginConfig.from_env({"PYROCLAST_COMPAT": "upstream"}).compat is Compat.UPSTREAM


@pytest.mark.parametrize("compat", list(Compat))
def test_the_first_host_is_ours(compat: Compat) -> None:
    decorated = answer(SvcCore(compat))
    listed = created(decorated, CONFIGMAPS)["data"]
    variables = [variable.name for variable in of_task(decorated, "worker").env]
    has = compat is Compat.LENIENT
    assert ("VC_MASTER_HOST" in listed) is has
    assert ("VC_MASTER_HOST" in variables) is has
    assert {"VC_MASTER_HOSTS", "VC_MASTER_NUM", "master.host"} <= listed.keys()
    assert {"VC_MASTER_HOSTS", "VC_MASTER_NUM"} <= set(variables)


def test_keys_that_running_pods_refer_to_stay_and_are_kept_right() -> None:
    """The job was made with VC_*_HOST; its pods name the key, and would not start again without it."""
    larger = job("Pending", tasks=[task("master", 1), task("worker", 3)])
    reference = ObjectReference(CONFIGMAPS, "ns", "j-svc")
    there = owned("j-svc", host_lists(TRAINING))
    decorated = answer(SvcCore(Compat.UPSTREAM), of=larger, found={reference: there})
    (patch,) = [e for e in decorated.effects if isinstance(e, PatchObject)]
    assert patch.patch["data"]["VC_WORKER_NUM"] == "3"
    assert None not in patch.patch["data"].values(), "nothing is taken away"


@pytest.mark.parametrize(
    ("compat", "arguments", "file", "begins"),
    [
        (Compat.LENIENT, [], "id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----"),
        (Compat.UPSTREAM, [], "id_rsa", "-----BEGIN RSA PRIVATE KEY-----"),
        (Compat.UPSTREAM, ["--ssh-key-type=ed25519"], "id_ed25519", "-----BEGIN OPENSSH"),
        (Compat.UPSTREAM, ["--ssh-port=many"], "id_rsa", "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_key_files(compat: Compat, arguments: list[str], file: str, begins: str) -> None:
    decorated = answer(SshCore(compat=compat), *arguments)
    data = created(decorated, SECRETS)["data"]
    assert sorted(data) == sorted([file, f"{file}.pub", "authorized_keys", "config"])
    assert base64.b64decode(data[file]).decode().startswith(begins)
    assert "Port 22" in base64.b64decode(data["config"]).decode()
    (volume,) = of_task(decorated, "worker").volumes
    items = [item["key"] for item in volume["secret"]["items"]]
    assert items == sorted(data)


def test_keys_of_another_setting_stay_and_pods_mount_what_is_there() -> None:
    made = created(answer(SshCore(lambda _: make_key_pair("ed25519"))), SECRETS)
    reference = ObjectReference(SECRETS, "ns", "j-ssh")
    decorated = answer(SshCore(compat=Compat.UPSTREAM), found={reference: owned("j-ssh", made["data"])})  # fmt: skip
    assert decorated.effects == ()
    (volume,) = of_task(decorated, "worker").volumes
    assert "id_ed25519" in [item["key"] for item in volume["secret"]["items"]]
