"""`pyroclast up`: run the embedded stack until Ctrl-C."""

import asyncio
import signal
from pathlib import Path
from typing import NamedTuple

from vc.cli.pyroclast import settings
from vc.cli.pyroclast.embedded import EmbeddedStack
from vc.runtime.hosting.listening import Wanted, require_free, url_of

WELCOME = """\
Pyroclast is up: every service in this process, an embedded cluster with simulated nodes.

  kubeconfig  {shown}
  API server  {url}
  dashboard   {dashboard}
  metrics     {metrics}/metrics

Three things to try:

  export KUBECONFIG={exported}
  kubectl apply -f examples/
  kubectl get vcjob,pg,queue -A
  kubectl describe vcjob gang-b

Ctrl-C stops everything; nothing is kept."""


class Ports(NamedTuple):
    """The ports of `up`. 0 selects a free port."""

    api: int
    dashboard: int
    metrics: int


async def run_up(*, home: Path, ports: Ports, nodes: Path | None) -> int:
    """Run until SIGINT or SIGTERM. Ports in use are reported before anything is started."""
    host = settings.dashboard_host()
    # All ports are checked together, so that the user can fix all conflicts at once.
    require_free(
        [
            Wanted(ports.api, settings.API_PORT),
            Wanted(ports.dashboard, settings.DASHBOARD_PORT, host),
            Wanted(ports.metrics, settings.METRICS_PORT),
        ]
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Handled instead of raised, so that the stack is stopped in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with EmbeddedStack(
        home=home, api_port=ports.api, nodes=nodes, metrics_port=ports.metrics
    ) as stack:
        await stack.wait_until_ready()
        shown, exported = _paths(stack.kubeconfig)
        print(
            WELCOME.format(
                shown=shown,
                exported=exported,
                url=stack.server.url,
                dashboard=url_of(host, stack.dashboard_port),
                metrics=url_of(settings.LOOPBACK, stack.health_port),
            ),
            flush=True,
        )
        await stop.wait()
        print("\nstopping", flush=True)
    return 0


def _paths(kubeconfig: Path) -> tuple[str, str]:
    """The path to show and the path to export. Relative if the file is below the current folder."""
    try:
        below = kubeconfig.relative_to(Path.cwd())
    except ValueError:
        return str(kubeconfig), str(kubeconfig)
    return str(below), f"$PWD/{below}"
