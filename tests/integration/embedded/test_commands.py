"""`pyroclast demo` and `pyroclast up` as a newcomer runs them: real time, real sockets."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "vc.cli.pyroclast.main"]
STOP_SECONDS_MAX = 20


def environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "REDIS_URL"}}
    return {
        **kept,
        "PYROCLAST_HOME": str(home),
        "PYROCLAST_API_PORT": "0",
        "PYROCLAST_DASHBOARD_PORT": "0",
        "PYROCLAST_METRICS_PORT": "0",
    }


def test_the_demo_completes_every_example_and_prints_the_table(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "demo"],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("\n\n")[-1].splitlines()
    assert table[0].split() == ["JOB", "QUEUE", "PHASE", "PODS", "WAITED", "RAN"]
    jobs = {line.split()[0]: line.split()[2] for line in table[1:7]}
    assert len(jobs) == 6
    assert set(jobs.values()) == {"Completed"}
    assert "\x1b" not in done.stdout, "colours only on a terminal"


def test_a_demo_whose_job_fails_says_so_and_exits_non_zero(tmp_path: Path) -> None:
    manifest = yaml.safe_load((ROOT / "examples/06-data.yaml").read_text())
    for task in manifest["spec"]["tasks"]:
        annotations = task["template"]["metadata"]["annotations"]
        annotations |= {"sim.pyroclast.io/run-seconds": "1", "sim.pyroclast.io/exit-code": "3"}
    file = tmp_path / "fails.yaml"
    file.write_text(yaml.safe_dump(manifest))
    done = subprocess.run(
        [*COMMAND, "demo", str(file)],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "spark-job did not complete: Failed" in done.stderr


@pytest.mark.parametrize(
    "variable", ["PYROCLAST_API_PORT", "PYROCLAST_DASHBOARD_PORT", "PYROCLAST_METRICS_PORT"]
)
def test_a_busy_port_is_one_line_that_says_who_has_it_and_what_to_set(
    tmp_path: Path, variable: str
) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        done = subprocess.run(
            [*COMMAND, "up"],
            cwd=ROOT,
            env={**environment(tmp_path), variable: str(port)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"pyroclast: port {port} is in use by pid {os.getpid()} (")
    assert line.endswith(f"; set {variable} to another one, or to 0 for any")


@pytest.fixture
def up(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A running `pyroclast up` and its API server's address."""
    process = subprocess.Popen(
        [*COMMAND, "up"], cwd=ROOT, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Ctrl-C"):
            break
    config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    try:
        yield process, config["clusters"][0]["cluster"]["server"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def post(url: str, body: dict[str, object]) -> tuple[int, dict[str, object]]:
    request = urllib.request.Request(
        url, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_up_judges_what_is_submitted_and_stops_cleanly(
    up: tuple["subprocess.Popen[str]", str],
) -> None:
    process, url = up
    manifest = yaml.safe_load((ROOT / "examples/06-data.yaml").read_text())
    jobs = f"{url}/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
    manifest["spec"]["minAvailable"] = 50
    code, status = post(jobs, manifest)
    assert code == 403
    assert "spec.minAvailable: 50" in str(status["message"])
    manifest["spec"]["minAvailable"] = 3
    code, made = post(jobs, manifest)
    assert code == 201, made
    assert made["kind"] == "Job"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=STOP_SECONDS_MAX) == 0
