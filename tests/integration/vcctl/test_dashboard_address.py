"""The dashboard asked at its own address: the same answers, without the API server's proxy."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.integration.stack.running import RunningStack, eventually
from tests.integration.vcctl.clusters import REAL_MARKS, own_address
from tests.integration.vcctl.shell import Shell, becomes
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.parser_options import DASHBOARD_VARIABLE
from vc.kubeconfig.access import read_access

VIEWER: Final = "volcano-queue-viewer"
ROLES: Final = Path(__file__).parents[3] / "deploy" / "manifests" / "pyroclast.yaml"
ASKING: Final = ("session list", "usage", "queue tree", "queue waiting", "simulate --add-nodes 1")
"""Commands that ask nobody but the dashboard."""

on_the_real_one = pytest.mark.parametrize(
    "shell", [pytest.param("kubernetes", marks=REAL_MARKS)], indirect=True
)


def without_proxy(shell: Shell) -> Shell:
    return shell._replace(extra={DASHBOARD_VARIABLE: shell.dashboard})


def test_the_same_comes_by_both_ways(shell: Shell) -> None:
    shell.good("vcctl job run -N by-both-ways -r 2 -m 2 -R cpu=9999 -L cpu=9999")
    waits = "vcctl job explain by-both-ways"
    eventually(lambda: "stage:" in shell.good(waits).out, "explained")
    explain = f"{waits} -o json"
    proxied, direct = (
        json.loads(each.good(explain).out)["explanation"] for each in (shell, without_proxy(shell))
    )
    assert proxied == direct
    session = json.loads(shell.good("vcctl session list -o json").out)["sessions"][-1]["sessionId"]
    show = f"vcctl session show {session}"
    assert shell.good(show).out == without_proxy(shell).good(show).out
    shell.good("vcctl job delete by-both-ways")


@pytest.mark.parametrize("line", ASKING)
def test_who_knows_the_address_needs_no_cluster(shell: Shell, line: str) -> None:
    alone = Shell(Path("no-such-kubeconfig"))
    assert alone.good(f"vcctl --dashboard {shell.dashboard} {line}").out
    assert alone.good(f"vcctl {line} --dashboard {shell.dashboard}").out
    assert "no-such-kubeconfig" in alone.bad(f"vcctl {line}")


def test_an_address_where_nobody_is_is_named(shell: Shell) -> None:
    nowhere = "--dashboard http://127.0.0.1:1"
    said = "cannot reach the dashboard at http://127.0.0.1:1: Connection refused"
    for line in ASKING:
        assert said in shell.bad(f"vcctl {line} {nowhere}")
    shell.good("vcctl job run -N unexplained")
    becomes(shell, "unexplained", "Running")
    assert said in shell.good(f"vcctl job explain unexplained {nowhere}").out
    assert said in shell.bad(f"vcctl job explain unexplained {nowhere} -o json")


@on_the_real_one
def test_the_stack_says_which_address_to_export(shell: Shell) -> None:
    home = shell.kubeconfig.parents[2]
    eventually(RunningStack(home).is_ready, "status says that all is well")
    told = (home / "logs" / "stack.log").read_text()
    assert f"export {DASHBOARD_VARIABLE}={shell.dashboard} " in told


# -- rights, which the embedded cluster does not ask about -----------------------------------------


def person(shell: Shell, name: str, folder: Path) -> Shell:
    """Somebody with an account and no rights."""
    client = Client(read_access([shell.kubeconfig]))
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    client.call("POST", accounts, body={"metadata": {"name": name}})
    made = client.call("POST", f"{accounts}/{name}/token", body={"spec": {}})
    config = yaml.safe_load(shell.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": made["status"]["token"]}
    (folder / name).write_text(yaml.safe_dump(config))
    return shell._replace(kubeconfig=folder / name, extra={})


def let_see_queues(shell: Shell, name: str) -> None:
    """As a cluster's administrator does: the chart's role, bound to somebody."""
    client = Client(read_access([shell.kubeconfig]))
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    documents = yaml.safe_load_all(ROLES.read_text())
    (role,) = [
        document
        for document in documents
        if document["kind"] == "ClusterRole" and document["metadata"]["name"] == VIEWER
    ]
    client.call("POST", f"{rbac}/clusterroles", body=role)
    binding: dict[str, Any] = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": VIEWER},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    client.call("POST", f"{rbac}/clusterrolebindings", body=binding)


def let_list_jobs(shell: Shell, name: str) -> None:
    """In all namespaces: what the dashboard tells of them follows the API server's rights."""
    client = Client(read_access([shell.kubeconfig]))
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    jobs = {"apiGroups": ["batch.volcano.sh"], "resources": ["jobs"], "verbs": ["list"]}
    role = {"metadata": {"name": f"{name}-lists-jobs"}, "rules": [jobs]}
    client.call("POST", f"{rbac}/clusterroles", body=role)
    binding: dict[str, Any] = {
        "metadata": {"name": f"{name}-lists-jobs"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": f"{name}-lists-jobs",
        },
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    client.call("POST", f"{rbac}/clusterrolebindings", body=binding)


@on_the_real_one
def test_the_proxy_asks_for_a_right_and_the_address_for_none(shell: Shell, tmp_path: Path) -> None:
    if not own_address():
        pytest.skip("this machine has only loopback, where a service proxy leads to nobody")
    ann = person(shell, "ann", tmp_path)
    for line in ASKING:
        refused = ann.bad(f"vcctl {line}")
        assert "you have no permission to use the dashboard through the API server" in refused
        assert "system:serviceaccount:default:ann" in refused
        assert without_proxy(ann).good(f"vcctl {line}").out
    let_see_queues(shell, "ann")
    refusal = "who may list jobs.batch.volcano.sh in all of them"
    eventually(lambda: refusal in ann.run("vcctl session list").err, "sessions name all namespaces")
    let_list_jobs(shell, "ann")
    for line in ASKING:
        eventually(lambda: not ann.run(f"vcctl {line}").code, f"ann may {line}")  # noqa: B023
