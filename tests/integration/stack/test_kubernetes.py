"""The same stack on a real kube-apiserver with etcd; KWOK plays the kubelets."""

from pathlib import Path

import pytest

from tests.integration.stack.running import RunningStack, eventually, require

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.xdist_group("stack"),
]

FIRST_SECONDS_MAX = 120.0
"""The first session waits until the watch of pods has passed the resourceVersion of the take-over; on
an idle cluster that is the next bookmark, which comes about once a minute."""


def test_gangs_run_to_their_end_on_a_real_api_server(tmp_path: Path) -> None:
    require("kafka", "redis", "kubernetes", "kwok")
    stack = RunningStack(tmp_path, CLUSTER="kubernetes")
    stack.up()
    try:
        stack.submit_gang("first", pods=4)
        first = eventually(
            lambda: stack.phase("first") == "Completed", "first", seconds_max=FIRST_SECONDS_MAX
        )
        stack.submit_gang("second", pods=4)
        second = eventually(lambda: stack.phase("second") == "Completed", "second")
        print(f"submit to Completed in {first:.1f} s, then {second:.1f} s; pods run 0.5 s")
        print(stack.run("status").stdout)
        assert {pod["status"]["phase"] for pod in stack.pods_of("second")} == {"Succeeded"}
        assert stack.is_ready()
        file = stack.file
    finally:
        down = stack.run("stack-down")
    assert down.returncode == 0, down.stdout
    assert file.running() == []
