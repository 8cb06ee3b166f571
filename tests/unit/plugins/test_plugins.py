"""What each plugin answers, and what it says when it cannot."""

import base64

import msgspec
import pytest

from tests.unit.job_controller.builders import job, task
from vc_job_controller.logic.decorating import decorate
from vc_jobplugin.answers import Core, Decorated, Found, Reference
from vc_jobplugin.arguments import Flag, parse
from vc_messages.effects import CreateObject, DeleteObject, PatchObject, RecordEvent
from vc_messages.plugins import PluginRequest, TaskDecoration
from vc_messages.redaction import redact
from vc_model.compat import Compat
from vc_model.job import Job
from vc_model.kinds import CONFIGMAPS, JOBS, SECRETS, SERVICES
from vc_plugin_env.logic import EnvCore
from vc_plugin_mpi.logic import MpiCore
from vc_plugin_pytorch.logic import PytorchCore
from vc_plugin_ray.logic import RayCore
from vc_plugin_ssh.keypairs import make_key_pair
from vc_plugin_ssh.logic import KeyPair
from vc_plugin_ssh.service import SshCore
from vc_plugin_svc.logic import SvcCore
from vc_plugin_tensorflow.logic import TensorflowCore

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


# -- arguments ---------------------------------------------------------------------------------------

FLAGS = (
    Flag(name="name", default="x"),
    Flag(name="on", switch=True),
    Flag(name="port", default="1", number=True, least=1, most=10),
)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ([], {"name": "x", "on": "false", "port": "1"}),
        (["--name=y", "-on", "--port=2"], {"name": "y", "on": "true", "port": "2"}),
        (["-name", "y", "--on=false"], {"name": "y", "on": "false", "port": "1"}),
        (["--name=a=b"], {"name": "a=b", "on": "false", "port": "1"}),
    ],
    ids=["defaults", "one and two dashes", "a value of its own", "an equals sign in a value"],
)
def test_arguments(arguments: list[str], values: dict[str, str]) -> None:
    assert parse(arguments, FLAGS).values == values


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--name", "--name needs a value"),
        ("--on=maybe", "--on=maybe: write true or false"),
        ("--port=99", "--port=99: write a number from 1 to 10"),
        ("--port=x", "--port=x: write a number"),
    ],
)
def test_a_wrong_argument_is_named(argument: str, said: str) -> None:
    assert said in parse([argument], FLAGS).problem
    upstream = parse(["--name=y", argument], FLAGS, compat=Compat.UPSTREAM)
    assert upstream.problem == ""
    assert said in upstream.ignored[0]
    defaults = {"name": "y", "on": "false", "port": "1"}
    assert upstream.values == defaults, "what cannot be used has its default"


@pytest.mark.parametrize("compat", list(Compat))
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nope=1"], ["argument '--nope' is not known and ignored; this plugin takes --name, --on, --port"]),
        (["--nope", "1", "--port=2"], ["'--nope' is not known", "argument that is no flag is not known"]),
        (["word"], ["argument that is no flag is not known and ignored"]),
        (["-----BEGIN PRIVATE KEY-----\nMIIE"], ["argument that is no flag is not known"]),
        (["--nope", "--nope"], ["'--nope' is not known"]),
    ],
)  # fmt: skip
def test_an_unknown_argument_is_ignored_and_named(
    arguments: list[str], said: list[str], compat: Compat
) -> None:
    """A job's arguments cannot be changed: to wait until they are would be to wait for ever."""
    parsed = parse(["--name=y", *arguments], FLAGS, compat=compat)
    assert parsed.problem == ""
    assert parsed.text("name") == "y"
    assert len(parsed.ignored) == len(said)
    for text, told in zip(parsed.ignored, said, strict=True):
        assert told in text
        assert "MIIE" not in text


CORES: list[Core] = [EnvCore(), SvcCore(), SshCore(), PytorchCore(), MpiCore(), TensorflowCore()]


@pytest.mark.parametrize("core", CORES, ids=[type(core).__name__ for core in CORES])
def test_every_plugin_answers_a_job_with_an_unknown_argument_and_warns(core: Core) -> None:
    tasks = [task("master", 1), task("worker", 2), task("head", 1)]
    of = job("Pending", tasks=tasks, plugins={"p": ["--no-root"]})
    decorated = answer(core, "--no-root", of=of)
    assert decorated.problem == ""
    assert decorated.decoration is not None
    (warning,) = decorated.warnings
    assert "'--no-root' is not known and ignored" in warning


def test_private_keys_are_redacted_however_they_are_written() -> None:
    written = ["--ssh-private-key=K", "-ssh-private-key", "K", "--ssh-port=2"]
    assert redact(written) == [
        "--ssh-private-key=<redacted>",
        "-ssh-private-key",
        "<redacted>",
        "--ssh-port=2",
    ]


# -- env, pytorch, mpi -------------------------------------------------------------------------------


def test_env_tells_index_and_number() -> None:
    assert variables(answer(EnvCore()), "worker") == {
        "VC_TASK_INDEX": "index+0",
        "VC_TASK_NUM": "2",
        "VK_TASK_INDEX": "index+0",
        "VK_TASK_NUM": "2",
    }


def test_torch_knows_master_size_and_rank() -> None:
    decorated = answer(PytorchCore())
    known = {"MASTER_ADDR": "j-master-0.j", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}
    assert variables(decorated, "master") == {**known, "RANK": "0"}
    assert variables(decorated, "worker") == {**known, "RANK": "index+1"}
    assert of_task(decorated, "worker").ports[0]["name"] == "pytorchjob-port"
    assert of_task(decorated, "worker").init_containers == []


def test_workers_wait_for_the_master_if_wanted() -> None:
    decorated = answer(PytorchCore(), "--wait-master-enabled", "--wait-master-timeout=60")
    (waiting,) = of_task(decorated, "worker").init_containers
    assert waiting["name"] == "wait-for-master"
    assert "nc -z -w 2 j-master-0.j 23456" in waiting["command"][2]
    assert of_task(decorated, "master").init_containers == []


def test_an_explicit_hostname_is_the_masters_address() -> None:
    template = {"spec": {"hostname": "boss", "subdomain": "dom", "containers": []}}
    boss = msgspec.structs.replace(task("master", 1), template=template)
    assert (
        variables(answer(PytorchCore(), of=job(tasks=[boss])), "master")["MASTER_ADDR"]
        == "boss.dom"
    )


def test_mpi_tells_the_master_its_workers() -> None:
    decorated = answer(MpiCore(), "--port=2222")
    assert variables(decorated, "master") == {"MPI_HOST": "j-worker-0.j,j-worker-1.j"}
    assert variables(decorated, "worker") == {}
    assert of_task(decorated, "worker").ports[0]["containerPort"] == 2222


@pytest.mark.parametrize(
    ("core", "argument"),
    [
        (PytorchCore(), "--master=nope"),
        (PytorchCore(), "--worker=nope"),
        (MpiCore(), "--master=nope"),
        (MpiCore(), "--worker=nope"),
    ],
    ids=["torch master", "torch worker", "mpi master", "mpi worker"],
)
def test_a_task_that_does_not_exist_is_a_problem(core: Core, argument: str) -> None:
    assert "its tasks are master, worker" in answer(core, argument).problem


# -- svc ---------------------------------------------------------------------------------------------


def test_svc_makes_its_objects_and_names_hosts() -> None:
    decorated = answer(SvcCore())
    made = [e for e in decorated.effects if isinstance(e, CreateObject)]
    assert [(e.kind.kind, e.name) for e in made] == [
        ("Service", "j"),
        ("NetworkPolicy", "j"),
        ("ConfigMap", "j-svc"),
    ]
    assert made[2].body["data"] == {
        "master.host": "j-master-0.j",
        "VC_MASTER_HOSTS": "j-master-0.j",
        "VC_MASTER_HOST": "j-master-0.j",
        "VC_MASTER_NUM": "1",
        "worker.host": "j-worker-0.j\nj-worker-1.j",
        "VC_WORKER_HOSTS": "j-worker-0.j,j-worker-1.j",
        "VC_WORKER_HOST": "j-worker-0.j",
        "VC_WORKER_NUM": "2",
    }
    worker = of_task(decorated, "worker")
    assert worker.hostname_from_pod
    assert worker.subdomain == "j"
    assert worker.mounts == [{"name": "j-svc", "mountPath": "/etc/volcano"}]


def test_svc_without_a_policy_and_with_early_names() -> None:
    decorated = answer(SvcCore(), "--disable-network-policy", "--publish-not-ready-addresses=true")
    made = [e for e in decorated.effects if isinstance(e, CreateObject)]
    assert [e.kind.kind for e in made] == ["Service", "ConfigMap"]
    assert made[0].body["spec"]["publishNotReadyAddresses"] is True


def owned(
    uid: str = "job-1",
    *,
    group: str = "batch.volcano.sh/v1alpha1",
    kind: str = "Job",
    **content: object,
) -> dict[str, object]:
    owner = {"apiVersion": group, "kind": kind, "name": "j", "uid": uid, "controller": True}
    return {
        "metadata": {"uid": "x", "resourceVersion": "7", "ownerReferences": [owner]},
        **content,
    }


FOREIGN = [
    pytest.param(owned("another job"), id="another job's"),
    pytest.param(owned(group="batch/v1"), id="a batch Job's"),
    pytest.param(owned(kind="JobFlow"), id="another kind's"),
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_what_another_owner_has_is_neither_used_nor_removed(foreign: dict[str, object]) -> None:
    removal = request(verb="remove")
    service = Reference(SERVICES, "ns", "j")
    for core in (SvcCore(), RayCore()):
        assert core.remove(removal, {service: foreign}).effects == ()
    assert ssh().remove(removal, {SECRET: foreign}).effects == ()
    made: list[str] = []
    answer(ssh(made), found={SECRET: {**foreign, "data": {"id_ed25519": "eA=="}}})
    assert made == ["ed25519"], "their keys are not ours"


def test_svc_refreshes_hosts_and_removes_only_its_own() -> None:
    core, reference = SvcCore(), Reference(CONFIGMAPS, "ns", "j-svc")
    stale = answer(core, found={reference: owned(data={"VC_GONE_NUM": "1"})})
    (patch,) = [e for e in stale.effects if isinstance(e, PatchObject)]
    assert patch.patch["data"]["VC_GONE_NUM"] is None
    removal = request(verb="remove")
    ended = core.remove(removal, {reference: owned()}).effects
    assert [type(e) for e in ended] == [DeleteObject]
    assert isinstance(ended[0], DeleteObject)
    assert (ended[0].uid, ended[0].resource_version) == ("x", "7"), "as it was read, or not at all"
    assert core.remove(removal, {reference: owned("another job")}).effects == ()


# -- ssh ---------------------------------------------------------------------------------------------

SECRET = Reference(SECRETS, "ns", "j-ssh")
PAIR = KeyPair(private="PRIVATE", public="PUBLIC\n")


def ssh(made: list[str] | None = None) -> SshCore:
    def make(key_type: str) -> KeyPair:
        if made is not None:
            made.append(key_type)
        return PAIR

    return SshCore(make)


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
def test_another_user_reads_keys_through_the_pods_group_and_nobody_else_does(
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
    mine = Reference(SECRETS, "ns", "mine")
    decorated = answer(ssh(), "--ssh-secret=mine", found={mine: {"data": {"id_rsa": ""}}})
    assert decorated.effects == ()
    assert of_task(decorated, "worker").volumes[0]["secret"]["secretName"] == "mine"
    assert "no such Secret" in answer(ssh(), "--ssh-secret=gone").problem


def test_a_key_in_arguments_is_read_from_the_job_itself_and_warned_about() -> None:
    arguments = ["--ssh-private-key=MINE", "--ssh-public-key=PUB"]
    live = {"metadata": {"uid": "job-1"}, "spec": {"plugins": {"ssh": arguments}}}
    asked = request(TRAINING, *redact(arguments))
    core = ssh()
    reference = Reference(JOBS, "ns", "j")
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
