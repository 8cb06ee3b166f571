"""The commands for stacks of many processes: `stack`, `stack-down`, `status`, `simcluster`.

Only argparse is imported until a command runs: `--help` answers at once.
"""

import argparse
import asyncio
import os
from pathlib import Path

from vc_cli import settings


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the four commands."""
    stack = commands.add_parser(
        "stack", help="start each service in its own process, on real servers"
    )
    stack.add_argument("services", nargs="*", metavar="SERVICE", help="only these (default: all)")
    stack.add_argument("--detach", action="store_true", help="return when it is up")
    stack.add_argument("--nodes", type=Path, help="YAML file with the simulated nodes")
    stack.set_defaults(command=_stack)
    down = commands.add_parser("stack-down", help="stop what `stack` started")
    down.set_defaults(command=_stack_down)
    status = commands.add_parser("status", help="show each process, its health, memory and lag")
    status.add_argument("-o", "--output", choices=("table", "json"), default="table")
    status.set_defaults(command=_status)
    cluster = commands.add_parser("simcluster", help="serve only the embedded cluster")
    cluster.add_argument("--host", default="127.0.0.1", help="address to listen on")
    cluster.add_argument(
        "--port", type=int, default=settings.DEFAULT_API_PORT, help="0 takes a free one"
    )
    cluster.add_argument("--nodes", type=Path, help="YAML file with the simulated nodes")
    cluster.add_argument("--kubeconfig", type=Path, help="file to write for kubectl")
    cluster.add_argument(
        "--service",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME:PORT=URL",
        help="a process that the service proxy leads to (repeatable)",
    )
    cluster.set_defaults(command=_simcluster)


def _stack(arguments: argparse.Namespace) -> int:
    from vc_cli.services import SERVICES
    from vc_cli.stack_clusters import CLUSTERS, GIVEN

    which = os.environ.get("CLUSTER") or CLUSTERS[0]
    if which not in CLUSTERS:
        raise ValueError(f"CLUSTER={which!r}: write {', '.join(CLUSTERS)}")
    if which == GIVEN and not os.environ.get("KUBECONFIG"):
        raise ValueError(f"CLUSTER={GIVEN} needs KUBECONFIG, the file that leads to your cluster")
    for name in arguments.services:
        if name not in SERVICES:
            raise ValueError(f"no service {name!r}; there are {', '.join(SERVICES)}")
    return _detached(arguments) if arguments.detach else _attached(arguments, which)


def _attached(arguments: argparse.Namespace, which: str) -> int:
    from vc_cli.services import SERVICES
    from vc_cli.stack import Options, run_stack

    options = Options(
        home=settings.home_folder(),
        cluster=which,
        services=tuple(name for name in SERVICES if name in arguments.services) or tuple(SERVICES),
        api_port=settings.api_port(),
        dashboard_host=settings.dashboard_host(),
        dashboard_port=settings.dashboard_port(),
        nodes=arguments.nodes,
    )
    return asyncio.run(run_stack(options))


def _detached(arguments: argparse.Namespace) -> int:
    from vc_cli.stack_detach import run_detached

    nodes = ["--nodes", str(arguments.nodes)] if arguments.nodes else []
    return asyncio.run(run_detached(settings.home_folder(), nodes + arguments.services))


def _stack_down(_: argparse.Namespace) -> int:
    from vc_cli.stack_down import run_stack_down

    return asyncio.run(run_stack_down(settings.home_folder()))


def _status(arguments: argparse.Namespace) -> int:
    from vc_cli.status import run_status

    return asyncio.run(run_status(settings.home_folder(), output=arguments.output))


def _simcluster(arguments: argparse.Namespace) -> int:
    from vc_cli.simcluster import ProxiedService, run_simcluster
    from vc_runtime import logs
    from vc_simcluster.node_pools import DEFAULT_POOLS, read_pools

    logs.set_up_from(os.environ)
    nodes: Path | None = arguments.nodes
    return asyncio.run(
        run_simcluster(
            host=arguments.host,
            port=arguments.port,
            pools=read_pools(nodes.read_text(encoding="utf-8")) if nodes else DEFAULT_POOLS,
            kubeconfig=arguments.kubeconfig,
            services=[ProxiedService.parse(text) for text in arguments.service],
        )
    )
