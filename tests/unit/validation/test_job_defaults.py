"""What a vcjob gets when it is created or changed."""

from typing import Any

import msgspec

from tests.unit.admission.objects import ask, job, task, template, world
from vc.jobs.plugins.built_in import BUILT_IN_PLUGINS
from vc.messages.plugins import PluginAnnouncement
from vc.model.api.kinds import JOBS
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat
from vc.validation.request import ReviewRequest
from vc.validation.rules import defaulted
from vc.validation.world import World


def default(raw: JsonObject, known: World | None = None) -> Any:
    request = ReviewRequest(uid="1", operation="CREATE", object=raw)
    return defaulted(request, known or world(), kind=JOBS)["spec"]


def bare(**spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "j"},
        "spec": {"tasks": [{"replicas": 3}, {"replicas": 2}], **spec},
    }


def test_queue_scheduler_and_retries_are_filled_in() -> None:
    spec = default(bare())
    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"]) == ("default", "volcano", 3)


def test_tasks_get_names_gangs_and_retries() -> None:
    first, second = default(bare())["tasks"]
    assert first == {"replicas": 3, "name": "default0", "minAvailable": 3, "maxRetry": 3}
    assert second["name"] == "default1"


def test_the_gang_is_the_sum_of_the_defaulted_tasks() -> None:
    assert default(bare())["minAvailable"] == 5
    tasks = [{"replicas": 4, "minAvailable": 1}, {"replicas": 2}]
    assert default(bare(tasks=tasks))["minAvailable"] == 3


def test_partitions_make_the_gang_of_a_task() -> None:
    policy = {"totalPartitions": 4, "partitionSize": 2, "minPartitions": 3}
    assert default(bare(tasks=[{"replicas": 8, "partitionPolicy": policy}]))["minAvailable"] == 6


def test_what_is_written_stays() -> None:
    written = job(queue="q", minAvailable=1, maxRetry=7, schedulerName="other")
    spec = default(written)
    assert {key: spec[key] for key in ("queue", "minAvailable", "maxRetry", "schedulerName")} == {
        "queue": "q", "minAvailable": 1, "maxRetry": 7, "schedulerName": "other"
    }  # fmt: skip


def test_undeclared_fields_survive() -> None:
    raw = bare(future={"a": 1})
    raw["spec"]["tasks"][0]["alsoFuture"] = [1]
    spec = default(raw)
    assert spec["future"] == {"a": 1}
    assert spec["tasks"][0]["alsoFuture"] == [1]


def test_plugins_bring_the_ones_they_need() -> None:
    assert default(bare(plugins={"mpi": []}))["plugins"] == {"mpi": [], "ssh": [], "svc": []}
    assert default(bare(plugins={"pytorch": []}))["plugins"] == {"pytorch": [], "svc": []}
    assert default(bare(plugins={"ssh": ["--ssh-port=2222"], "mpi": []}))["plugins"]["ssh"] == [
        "--ssh-port=2222"
    ]
    assert "plugins" not in default(bare())


def test_an_announced_plugin_forces_others() -> None:
    known = world()
    announced = PluginAnnouncement(plugin="magic", version="1", forces=["env"])
    plugins = {**BUILT_IN_PLUGINS, "magic": announced}
    known = msgspec.structs.replace(known, plugins=plugins)
    assert default(bare(plugins={"magic": []}), known)["plugins"] == {"magic": [], "env": []}


def test_the_hosts_network_gets_its_dns_policy() -> None:
    raw = job(tasks=[task(template=template(hostNetwork=True))])
    assert default(raw)["tasks"][0]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_devices_get_their_limits_in_lenient_mode_only() -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    raw = job(tasks=[task(template={"spec": {"containers": [container]}})])
    resources = default(raw)["tasks"][0]["template"]["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"nvidia.com/gpu": "1"}
    upstream = default(raw, world(compat=Compat.UPSTREAM))
    assert "limits" not in upstream["tasks"][0]["template"]["spec"]["containers"][0]["resources"]


def test_a_patch_names_only_what_changes() -> None:
    patch = ask("/jobs/mutate", without_retries()).patch
    assert patch == [
        {"op": "add", "path": "/spec/tasks/0/maxRetry", "value": 3},
        {"op": "add", "path": "/spec/tasks/0/minAvailable", "value": 2},
    ]


def without_retries() -> JsonObject:
    return job()


def test_nulls_are_nothing() -> None:
    spec = default(bare(queue=None, plugins=None, minAvailable=None))
    assert (spec["queue"], spec["minAvailable"], spec["plugins"]) == ("default", 5, None)


def test_an_unreadable_job_is_left_for_the_schema_to_refuse() -> None:
    response = ask("/jobs/mutate", {"spec": {"tasks": "none"}})
    assert response.allowed
    assert response.patch == []


def test_what_an_update_leaves_out_is_filled_in_again() -> None:
    patch = ask("/jobs/mutate", bare(), old=bare(), operation="UPDATE").patch
    assert patch == ask("/jobs/mutate", bare()).patch != []


def test_a_job_that_is_being_deleted_is_left_as_it_is() -> None:
    going = bare()
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert ask("/jobs/mutate", going, old=bare(), operation="UPDATE").patch == []
