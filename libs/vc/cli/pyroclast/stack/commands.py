"""The commands for multi-process stacks: `stack`, `stack-down`, `status`, `simcluster`.

Only argparse is imported until a command runs, so that `--help` is fast.
"""

import argparse
import asyncio
import os
from importlib.util import find_spec
from pathlib import Path

from vc.cli.pyroclast import settings


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


def _need_checkout() -> None:
    """The real servers for tests (`vc.parts`) are in a checkout, and not in the installed package."""
    if find_spec("vc.parts") is None:
        raise ValueError(
            "stack, stack-down and status need a checkout of the repository: the package does not contain "
            "the programs that get and start Kafka and Redis; clone it and run `make stack`"
        )


def _stack(arguments: argparse.Namespace) -> int:
    _need_checkout()
    from vc.cli.pyroclast.services import SERVICES
    from vc.cli.pyroclast.stack.clusters import CLUSTERS, GIVEN

    which = os.environ.get("CLUSTER") or CLUSTERS[0]
    if which not in CLUSTERS:
        raise ValueError(f"CLUSTER={which!r}: write {', '.join(CLUSTERS)}")
    # The default kubeconfig may be a production cluster, so it must be named explicitly.
    if which == GIVEN and not os.environ.get("KUBECONFIG"):
        raise ValueError(f"CLUSTER={GIVEN} needs KUBECONFIG, the file that leads to your cluster")
    for name in arguments.services:
        if name not in SERVICES:
            raise ValueError(f"no service {name!r}; there are {', '.join(SERVICES)}")
    return _detached(arguments) if arguments.detach else _attached(arguments, which)


def _attached(arguments: argparse.Namespace, which: str) -> int:
    from vc.cli.pyroclast.services import SERVICES
    from vc.cli.pyroclast.stack.stack import Options, run_stack

    options = Options(
        home=settings.home_folder(),
        cluster=which,
        # In the order of the table, whatever the order on the command line.
        services=tuple(name for name in SERVICES if name in arguments.services) or tuple(SERVICES),
        api_port=settings.api_port(),
        dashboard_host=settings.dashboard_host(),
        dashboard_port=settings.dashboard_port(),
        nodes=arguments.nodes,
    )
    return asyncio.run(run_stack(options))


def _detached(arguments: argparse.Namespace) -> int:
    from vc.cli.pyroclast.stack.detach import run_detached

    nodes = ["--nodes", str(arguments.nodes)] if arguments.nodes else []
    return asyncio.run(run_detached(settings.home_folder(), nodes + arguments.services))


def _stack_down(_: argparse.Namespace) -> int:
    _need_checkout()
    from vc.cli.pyroclast.stack.down import run_stack_down

    return asyncio.run(run_stack_down(settings.home_folder()))


def _status(arguments: argparse.Namespace) -> int:
    _need_checkout()
    from vc.cli.pyroclast.status import run_status

    return asyncio.run(run_status(settings.home_folder(), output=arguments.output))


def _simcluster(arguments: argparse.Namespace) -> int:
    from vc.cli.pyroclast.simcluster import ProxiedService, run_simcluster
    from vc.runtime.hosting import logs
    from vc.simcluster.kubelet.node_pools import DEFAULT_POOLS, read_pools

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
