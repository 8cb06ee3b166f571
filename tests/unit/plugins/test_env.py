"""The env plugin: the index of a pod and the size of its task, as variables."""

from tests.unit.plugins.requests import answer, variables
from vc.plugin_env.logic import EnvCore


def test_env_sets_index_and_number_of_pods() -> None:
    assert variables(answer(EnvCore()), "worker") == {
        "VC_TASK_INDEX": "index+0",
        "VC_TASK_NUM": "2",
        "VK_TASK_INDEX": "index+0",
        "VK_TASK_NUM": "2",
    }
