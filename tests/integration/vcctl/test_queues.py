"""What the commands about queues do, on the embedded cluster and on a real kube-apiserver."""

import json
import re
from pathlib import Path

from tests.integration.stack.running import eventually
from tests.integration.vcctl.shell import Shell, becomes


def test_a_queue_may_be_closed_from_the_start(shell: Shell) -> None:
    shell.good("vcctl queue create -n shut -S Closed")
    get = "vcctl queue get -n shut"
    eventually(lambda: shell.good(get).rows()[0][2] == "Closed", "closed")


def test_who_waits_in_a_queue_is_listed_in_order(shell: Shell, tmp_path: Path) -> None:
    for name in ("first-in-line", "second-in-line"):
        shell.good(f"vcctl job run -N {name} -r 2 -m 2 -R cpu=9999 -L cpu=9999")
    line = "vcctl queue waiting -n default"

    def waiting() -> list[str]:
        shown = shell.good(line).out.splitlines()
        return [row.split()[1] for row in shown if "in-line" in row]

    wanted = ["default/first-in-line", "default/second-in-line"]
    eventually(lambda: sorted(waiting()) == wanted, "both wait")
    shown = shell.good(line).out
    assert re.search(r"^headroom:  .*cpu \S+", shown, re.MULTILINE)
    (queue,) = json.loads(shell.good(f"{line} -o json").out)["queues"]
    places = [job["position"] for job in queue["waiting"]]
    assert places == sorted(places)
    assert "default/first-in-line" in shell.good("vcctl queue waiting").out
    for name in ("first-in-line", "second-in-line"):
        shell.good(f"vcctl job delete {name}")


def test_the_life_of_a_queue(shell: Shell) -> None:
    shell.good("vcctl queue create -n team -w 3 --parent root")
    assert shell.good("vcctl queue get -n team").rows()[0][:4] == ["team", "3", "Open", "root"]
    assert json.loads(shell.good("vcctl queue get team -o json").out)["spec"]["weight"] == 3
    shell.good("vcctl queue operate -n team -a update -w 5")
    assert shell.good("vcctl queue get team -o wide").rows()[0][1] == "5"
    assert "from 1 to 65535" in shell.bad("vcctl queue operate -n team -a update", code=2)
    assert "invalid choice" in shell.bad("vcctl queue operate -n team -a paint", code=2)
    shell.good("vcctl queue operate -n team -a close")
    closed = "vcctl queue get -n team"
    eventually(lambda: shell.good(closed).rows()[0][2] == "Closed", "closed")
    assert shell.good("vcctl queue delete -n team").out == "delete queue team successfully\n"
    for verb in ("get", "delete", "operate -a open"):
        assert "there is no queue 'ghost'" in shell.bad(f"vcctl queue {verb} -n ghost")
        assert "which queue?" in shell.bad(f"vcctl queue {verb}", code=2)


def test_the_tree_of_queues(shell: Shell) -> None:
    shell.good("vcctl queue create -n branch")
    eventually(lambda: "branch" in shell.good("vcctl queue tree").out, "in the tree")
    lines = shell.good("vcctl queue tree").out.splitlines()
    assert lines[0].split()[:5] == ["Queue", "State", "Weight", "Resource", "Share"]
    assert lines[1].startswith("root ")
    assert "%" in lines[1]
    assert json.loads(shell.good("vcctl queue tree -o json").out)["capacity"]["cpu"]


SHARING = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: sharing, namespace: default}
spec:
  queue: weighted
  minAvailable: 2
  tasks:
    - name: w
      replicas: 2
      template:
        spec:
          containers: [{name: c, image: busybox, resources: {requests: {cpu: 500m, memory: 100Mi}}}]
"""


def test_the_tree_has_what_queues_deserve_by_their_weight(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "sharing.yaml").write_text(SHARING)
    shell.good("vcctl queue create -n weighted -w 2")
    shell.good(f"vcctl job run -f {tmp_path / 'sharing.yaml'}")
    becomes(shell, "sharing", "Running")

    def cpu() -> str:
        lines = shell.good("vcctl queue tree -o wide").out.splitlines()
        at = next(number for number, line in enumerate(lines) if "─ weighted " in line)
        return next(line for line in lines[at : at + 2] if " cpu " in line)

    wanted = ["-", "1", "1", "1", "-"]
    """Two pods of half a CPU each: the queue deserves all that they ask for."""
    eventually(lambda: cpu().split("%")[1].split() == wanted, "deserved, allocated and requested")
    assert "┃" in cpu()
    found = json.loads(shell.good("vcctl queue tree -o json").out)
    [row] = [row for row in found["queues"] if row["name"] == "weighted"]
    assert (row["deserved"]["cpu"], row["deservedWritten"]) == ("1", {})
    shell.good("vcctl job delete -N sharing")
