"""`pyroclast`: run the embedded stack, the demo, any set of services, or each in its own
process.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from vc.cli.pyroclast import settings
from vc.cli.pyroclast.acls import add_command as add_acls
from vc.cli.pyroclast.stack.commands import add_commands
from vc.cluster.errors import ClusterError
from vc.model.faults import describe

_EPILOG: Final = """\
environment:
  PYROCLAST_HOME            folder of the kubeconfig, logs and stack.json (.pyroclast)
  PYROCLAST_API_PORT        port of the embedded API server (8001)
  PYROCLAST_DASHBOARD_PORT  port of the dashboard (8080)
  PYROCLAST_METRICS_PORT    port of health and metrics of `up` (9100); 0 takes any free one
  PYROCLAST_STALL_SECONDS_MAX
                            give a start up that shows nothing new for so long: no line in a
                            log, no change of readiness (120)
  PYROCLAST_START_SECONDS_MAX
                            and at the latest after so long, servers and services each (600)
  DASHBOARD_HOST            where the dashboard of `stack` listens (127.0.0.1)
  KAFKA_BOOTSTRAP_SERVERS, REDIS_URL, KUBECONFIG, OTEL_EXPORTER_OTLP_ENDPOINT
                            real servers for `run`; what is absent is kept in memory.
                            `stack` starts what is absent
  PYROCLAST_ACLS            on: Kafka and Redis that `stack` starts have one user per service and
                            enforce the ACLs of docs/acls.md (off)
  CLUSTER                   API server of `stack`: embedded (default), kubernetes (real, with
                            fake nodes), given (the one of KUBECONFIG)
  ADMISSION_URL, ADMISSION_FAILURE_POLICY
                            with CLUSTER=given: https://HOST:PORT by which that cluster reaches
                            admission (without it no webhooks are registered there); Ignore or Fail
  LOG_LEVEL, LOG_FORMAT     info, debug, …; json or line
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line, run the command and exit with its code."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        sys.exit(command(arguments))
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, ValueError, LookupError, RuntimeError, ClusterError) as error:
        print(f"pyroclast: {describe(error)}", file=sys.stderr)
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyroclast",
        description="A batch system for Kubernetes with Volcano's API.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="run example jobs on the embedded cluster, then exit")
    demo.add_argument(
        "manifests", nargs="*", type=Path, help="files or folders (default: examples)"
    )
    demo.set_defaults(command=_demo)
    up = commands.add_parser("up", help="start the embedded stack and keep it up")
    up.add_argument("--nodes", type=Path, help="YAML file with the simulated nodes")
    up.set_defaults(command=_up)
    run = commands.add_parser("run", help="run services in this process, on real servers")
    run.add_argument("services", nargs="+", metavar="SERVICE", help="watcher, scheduler, …")
    run.set_defaults(command=_run)
    add_commands(commands)
    add_acls(commands)
    return parser


def _quiet_logs() -> None:
    """Log only errors on the terminal, unless LOG_LEVEL and LOG_FORMAT say otherwise."""
    from vc.runtime.hosting import logs

    logs.set_up_from(os.environ, level="error", form="line")


def _demo(arguments: argparse.Namespace) -> int:
    from vc.cli.pyroclast.demo import run_demo

    _quiet_logs()
    # the demo must not fail because the port is in use
    os.environ.setdefault("PYROCLAST_DASHBOARD_PORT", "0")
    manifests = arguments.manifests or [Path("examples")]
    return asyncio.run(run_demo(home=settings.home_folder(), manifests=manifests))


def _up(arguments: argparse.Namespace) -> int:
    from vc.cli.pyroclast.up import Ports, run_up

    _quiet_logs()
    return asyncio.run(
        run_up(
            home=settings.home_folder(),
            ports=Ports(
                api=settings.api_port(),
                dashboard=settings.dashboard_port(),
                metrics=settings.metrics_port(),
            ),
            nodes=arguments.nodes,
        )
    )


def _run(arguments: argparse.Namespace) -> int:
    from vc.cli.pyroclast.services import SERVICES, program_of
    from vc.runtime.hosting.main import run_services
    from vc.runtime.program.checking import check_variables

    for name in arguments.services:
        if name not in SERVICES:
            raise ValueError(f"no service {name!r}; there are {', '.join(SERVICES)}")
    programs = {name: program_of(name) for name in arguments.services}
    # All services are checked before one starts, so that the user sees every problem at once.
    found = [check_variables(program, os.environ) for program in programs.values()]
    for warning in dict.fromkeys(line for one in found for line in one.warnings):
        print(f"pyroclast: warning: {warning}", file=sys.stderr)
    problems = list(dict.fromkeys(line for one in found for line in one.problems))
    # No service is started if the variables of one of them are invalid.
    if problems:
        raise ValueError("\npyroclast: ".join(problems))
    run_services({name: program.load() for name, program in programs.items()})
    return 0


if __name__ == "__main__":
    main()
