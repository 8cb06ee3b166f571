"""`pyroclast up`: the embedded stack, kept up until Ctrl-C."""

import asyncio
import signal
from pathlib import Path

from vc_cli.embedded import EmbeddedStack

_WELCOME = """\
Pyroclast is up: every service in this process, an embedded cluster with simulated nodes.

  kubeconfig  {shown}
  API server  {url}
  dashboard   http://127.0.0.1:{dashboard_port}
  metrics     http://127.0.0.1:{health_port}/metrics

Three things to try:

  export KUBECONFIG={exported}
  kubectl apply -f examples/
  kubectl get vcjob,pg,queue -A
  kubectl describe vcjob gang-b

Ctrl-C stops everything; nothing is kept."""


async def run_up(*, home: Path, api_port: int, dashboard_port: int, nodes: Path | None) -> int:
    """Until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with EmbeddedStack(home=home, api_port=api_port, nodes=nodes) as stack:
        await stack.wait_until_ready()
        shown, exported = _paths(stack.kubeconfig)
        print(
            _WELCOME.format(
                shown=shown,
                exported=exported,
                url=stack.server.url,
                dashboard_port=stack.dashboard_port or dashboard_port,
                health_port=stack.health_port,
            ),
            flush=True,
        )
        await stop.wait()
        print("\nstopping", flush=True)
    return 0


def _paths(kubeconfig: Path) -> tuple[str, str]:
    """The path to read and the path to export; short where the folder is below this one."""
    try:
        below = kubeconfig.relative_to(Path.cwd())
    except ValueError:
        return str(kubeconfig), str(kubeconfig)
    return str(below), f"$PWD/{below}"
