"""The shell of a plugin whose decisions take long: the event loop is not held up."""

import threading

from tests.builders.contexts import memory_context
from tests.unit.job_controller.builders import job
from tests.unit.plugins.requests import request
from vc.clock import LoopClock, run_virtual
from vc.jobplugin.service import PluginService
from vc.model.api.kinds import NAMESPACES
from vc.plugin_ssh.logic import SshKeyPair
from vc.plugin_ssh.service import SshCore
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.schema.registry import Registry
from vc.simcluster.verbs.api import Api


async def threads_of_keys() -> list[threading.Thread]:
    """Where the key of a job is made."""
    made: list[threading.Thread] = []

    def make(_: str) -> SshKeyPair:
        made.append(threading.current_thread())
        return SshKeyPair(private="PRIVATE", public="PUBLIC\n")

    clock = LoopClock()
    cluster = StoreCluster(Api(clock=clock, registry=Registry(crds=[])))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
    await cluster.create(NAMESPACES, namespace)
    context = memory_context("plugin-ssh", clock=clock, cluster=cluster)
    service = PluginService(context, SshCore(make), slow=True)
    reply = await service.reply_to(request(job("Pending")))
    assert reply is not None
    return made


async def test_keys_are_made_beside_the_loop() -> None:
    (thread,) = await threads_of_keys()
    assert thread is not threading.main_thread()


def test_in_virtual_time_there_are_no_threads() -> None:
    assert run_virtual(threads_of_keys()) == [threading.main_thread()]
