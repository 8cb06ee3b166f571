"""The commands of our users' documents: the list is theirs, and each line runs as it is written there."""

import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.integration.stack.running import eventually
from tests.integration.vcctl.clusters import embedded
from tests.integration.vcctl.seed_commands import COMMANDS, FILLED, SeedCommand, found_in
from tests.integration.vcctl.typist import Typist

ROOT: Final = Path(__file__).parents[3]
DOCUMENTS: Final = ROOT.parent / "shared" / "seeds"
SEEDS: Final = ROOT / "examples" / "seeds"
MANIFESTS: Final = ROOT / "deploy" / "manifests" / "pyroclast.yaml"
SCHEDULER: Final = "volcano-scheduler"
LOOKS: Final = re.compile(r"(kubectl (get|logs)|vcctl \w+ (list|view)) ")
"""What may be a moment late, because others have something to do first."""


def test_the_list_is_what_the_documents_say() -> None:
    if not DOCUMENTS.is_dir():
        pytest.skip(f"the users' documents are not beside this checkout ({DOCUMENTS.name} folder)")
    documents = {path.name[:3]: path.read_text() for path in sorted(DOCUMENTS.glob("*.txt"))}
    assert {command.document for command in COMMANDS} <= set(documents)
    wrong = {name: found_in(name, text) for name, text in documents.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("kubectl get nodes\n", "line 1 has 'kubectl get nodes'", id="one too many"),
        pytest.param("nothing\n", "is not in it", id="one too few"),
        pytest.param(
            "\n" * 3 + "helm install volcano volcano-sh/volcano\n", "line 4 has", id="half of one"
        ),
    ],
)
def test_a_list_that_differs_is_noticed(text: str, said: str) -> None:
    assert any(said in wrong for wrong in found_in("000", text))


def test_a_line_is_left_out_only_for_a_reason_and_run_on_one_cluster_if_it_can_be() -> None:
    nowhere = [c.text for c in COMMANDS if c.not_embedded and c.not_real]
    assert all(text.startswith(("helm repo", "kubectl apply -f https://")) for text in nowhere)


@pytest.mark.timeout(180)
def test_each_line_runs_on_the_embedded_cluster_as_it_is_written(tmp_path: Path) -> None:
    with embedded(tmp_path / "home") as shell:
        typist = Typist(shell.kubeconfig, folder=tmp_path)
        lay_ground(typist)
        for command in COMMANDS:
            if not command.not_embedded:
                check(typist, command)


def check(typist: Typist, command: SeedCommand) -> None:
    """It does what it says, at once or, where it only looks, soon."""
    if LOOKS.match(f"{command.typed} "):
        what = f"{command.text} (as of {command.document}:{command.line})"
        eventually(lambda: fits(typist, command), what)
    else:
        shown = typist.good(command.typed)
        assert re.fullmatch(command.out, shown), f"{command.text}:\n{shown}"


def fits(typist: Typist, command: SeedCommand) -> bool:
    ran = typist.type(command.typed)
    return ran.code == 0 and bool(re.fullmatch(command.out, ran.out))


def lay_ground(typist: Typist) -> None:
    """What the documents have their readers apply before they look."""
    for name in ("01-ground.yaml", "02-distributed-training.yaml"):
        typist.good(f"kubectl apply -f {SEEDS / name}")
    (typist.folder / "torchrun-gang.yaml").write_text((SEEDS / "09-torchrun-gang.yaml").read_text())
    for name in ("my-job", FILLED):
        typist.good(f"vcctl job run -N {name}")
    stand_in_for_the_scheduler(typist)


def stand_in_for_the_scheduler(typist: Typist) -> None:
    """Its Deployment as it is installed, and a pod of it, since no controller makes one here."""
    documents = [found for found in yaml.safe_load_all(MANIFESTS.read_text()) if found]
    (deployment,) = [
        found
        for found in documents
        if (found["kind"], found["metadata"]["name"]) == ("Deployment", SCHEDULER)
    ]
    template = deployment["spec"]["template"]
    container = {"name": "scheduler", "image": template["spec"]["containers"][0]["image"]}
    namespace = deployment["metadata"]["namespace"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{SCHEDULER}-0",
            "namespace": namespace,
            "labels": template["metadata"]["labels"],
        },
        "spec": {"nodeName": "node-0", "containers": [container]},
    }
    kind = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    file = typist.folder / "scheduler.yaml"
    file.write_text(yaml.safe_dump_all([kind, deployment, pod]))
    typist.good(f"kubectl apply -f {file}")
