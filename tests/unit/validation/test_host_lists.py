"""Jobs whose plugins could not make what they need, and maxima that an administrator set."""

from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import ask, assert_answers, job, task, template
from vc.jobs.hosts import hosts
from vc.jobs.plugins.flags import parse
from vc.messages.job_plugins import SSH
from vc.model.api.job import Job
from vc.model.api.struct import JsonObject
from vc.plugin_ssh.logic import ssh_config
from vc.plugin_svc.logic import host_lists as svc_host_lists
from vc.validation.job import host_lists
from vc.validation.job.host_lists import (
    DOCUMENT_BYTES_MAX,
    OBJECT_BYTES_MAX,
    VARIABLE_BYTES_MAX,
)  # fmt: skip
from vc.validation.request import UPDATE

PATH = "/jobs/validate"


def sized(*replicas: int, plugin: str = "svc", **fields: Any) -> JsonObject:
    tasks = [task(f"t{n}", count, **fields) for n, count in enumerate(replicas)]
    return job(minAvailable=1, plugins={plugin: []}, tasks=tasks)


CONTAINERS = [
    {"name": f"c{n}", "image": "i", "resources": {"requests": {"cpu": "1"}}} for n in range(6)
]


WIDE = template(containers=CONTAINERS)


CASES = [
    pytest.param(sized(100, 200), "", id="hosts that fit"),
    pytest.param(sized(*[1] * 1000), "", id="as many tasks as a job may have"),
    pytest.param(
        sized(20_000),
        f"spec.tasks[0].replicas: 20000: its variable VC_T0_HOSTS of plugin svc would have 408902 bytes "
        f"and Linux starts no container with one of more than {VARIABLE_BYTES_MAX}",
        id="a variable that Linux does not take",
    ),
    pytest.param(sized(10**9), "spec.tasks[0].replicas: 1000000000", id="any number at all"),
    pytest.param(
        sized(*[5000] * 7),
        f"of the ConfigMap train-svc, which takes {DOCUMENT_BYTES_MAX} at the most",
        id="lists that no ConfigMap takes",
    ),
    pytest.param(
        sized(*[1] * 1000, template=WIDE),
        f"bytes of a pod and etcd takes {OBJECT_BYTES_MAX} at the most",
        id="variables that no pod takes",
    ),
    pytest.param(sized(20_000, plugin="ssh"), "of the Secret train-ssh", id="hosts of ssh"),
    pytest.param(sized(20_000, plugin="env"), "", id="no host lists at all"),
    pytest.param(
        job(minAvailable=1, plugins={"pytorch": []}, tasks=[task("master", 20_000)]),
        "VC_MASTER_HOSTS",
        id="svc because another plugin forces it",
    ),
    pytest.param(sized(20_000, template=template(hostname="h")), "", id="all have one host name"),
    pytest.param(
        job(plugins={"svc": []}, tasks=[{"name": "t", "template": {"spec": [1]}}]),
        "spec.tasks[0].template",
        id="a template that is none",
    ),
]


@pytest.mark.parametrize(("raw", "refused"), CASES)
def test_what_cannot_work_is_refused_with_field_value_and_limit(
    raw: JsonObject, refused: str
) -> None:
    assert_answers(ask(PATH, raw), refused)


def test_sizes_are_those_of_what_the_plugins_make() -> None:
    raw = sized(0, 1, 9, 10, 11, 123, 1001)
    raw["spec"]["tasks"][2]["template"] = template(subdomain="elsewhere")
    raw["spec"]["tasks"][3]["template"] = template(hostname="same")
    of = msgspec.convert(raw, Job)
    for each in of.spec.tasks:
        assert host_lists._list_bytes("train", each) == len(",".join(hosts(of, each)))
    config = ssh_config(of, parse(["--ssh-port=1"], SSH.flags), private="k")
    listed = config[config.index("Host ") :]
    assert sum(host_lists._ssh_bytes("train", each) for each in of.spec.tasks) == len(listed)
    data = svc_host_lists(of)
    least = sum(2 * host_lists._list_bytes("train", each) for each in of.spec.tasks)
    assert least < sum(len(key) + len(value) for key, value in data.items())


def scaled(before: JsonObject, replicas: int) -> JsonObject:
    after: JsonObject = msgspec.json.decode(msgspec.json.encode(before))
    after["spec"]["tasks"][0]["replicas"] = replicas
    return after


def test_a_job_may_not_grow_beyond_what_works_and_may_always_shrink() -> None:
    small, large = sized(100), sized(30_000)
    grown = ask(PATH, scaled(small, 20_000), old=small, operation=UPDATE)
    assert_answers(grown, "spec.tasks[0].replicas: 20000")
    assert_answers(ask(PATH, scaled(large, 20_000), old=large, operation=UPDATE), "")
