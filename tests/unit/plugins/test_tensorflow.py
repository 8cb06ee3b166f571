"""The tensorflow plugin: TF_CONFIG with the cluster, and the type and index of each pod."""

import json
from typing import Any

from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import answer, decorated_spec
from vc.model.api.job import Job
from vc.plugin_tensorflow.logic import TensorflowCore

TRAINING = job("Pending", tasks=[task("ps", 1), task("worker", 2), task("watch", 1)])
CLUSTER = {"ps": ["j-ps-0.j:2222"], "worker": ["j-worker-0.j:2222", "j-worker-1.j:2222"]}


def tf_config(of: Job, task_: str, index: int, *arguments: str) -> Any:
    decorated = answer(TensorflowCore(), *arguments, of=of)
    chosen = next(t for t in of.spec.tasks if t.name == task_)
    (variable,) = decorated_spec(decorated, chosen, index)["containers"][0]["env"]
    assert variable["name"] == "TF_CONFIG"
    return json.loads(variable["value"])


def test_every_pod_gets_the_cluster_its_type_and_its_index() -> None:
    assert tf_config(TRAINING, "worker", 1) == {
        "cluster": CLUSTER,
        "task": {"type": "worker", "index": 1},
    }


def test_a_task_of_no_known_type_has_its_own_name_as_type() -> None:
    own = {"type": "watch", "index": 0}
    assert tf_config(TRAINING, "watch", 0) == {"cluster": CLUSTER, "task": own}


def test_task_types_and_port_by_argument() -> None:
    config = tf_config(TRAINING, "watch", 0, "--evaluator=watch", "--port=9")
    assert config["cluster"]["evaluator"] == ["j-watch-0.j:9"]
    assert config["task"] == {"type": "evaluator", "index": 0}


def test_a_single_pod_has_no_cluster() -> None:
    decorated = answer(TensorflowCore(), of=job(tasks=[task("worker", 1)]))
    assert decorated.decoration is not None
    assert decorated.decoration.tasks == {}


def test_a_chief_that_does_not_exist_is_a_problem() -> None:
    problem = answer(TensorflowCore(), "--chief=nope", of=TRAINING).problem
    assert "the job has no such task" in problem
