"""VC_TASK_INDEX and VC_TASK_NUM, and their old VK_ names."""

from vc.jobplugin.answers import Decorated, Found, MakesNothing
from vc.jobs.plugins.built_in import announcement_of
from vc.jobs.plugins.flags import parse
from vc.messages.job_plugins import ENV
from vc.messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginRequest,
    TaskDecoration,
)
from vc.model.api.job import TaskSpec
from vc.model.compat import Compat


class EnvCore(MakesNothing):
    """The core of the env plugin; see `vc.jobplugin.answers.Core`."""

    announcement = announcement_of(ENV)

    def __init__(self, compat: Compat = Compat.LENIENT) -> None:
        self._compat = compat

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:  # noqa: ARG002
        """The same variables for every task, with its own number of pods."""
        # It has no flags; parsing reports each argument as ignored.
        parsed = parse(request.arguments, (), compat=self._compat)
        tasks = {task.name: _variables(task) for task in request.job.spec.tasks}
        return Decorated(decoration=JobDecoration(tasks=tasks), warnings=parsed.ignored)


def _variables(task: TaskSpec) -> TaskDecoration:
    return TaskDecoration(
        env=[
            EnvVar(name="VC_TASK_INDEX", index_plus=0),
            EnvVar(name="VC_TASK_NUM", value=str(task.replicas)),
            # Volcano's older names, which images of users still read.
            EnvVar(name="VK_TASK_INDEX", index_plus=0),
            EnvVar(name="VK_TASK_NUM", value=str(task.replicas)),
        ]
    )
