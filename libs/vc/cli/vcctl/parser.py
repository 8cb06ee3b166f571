"""The command line of vcctl.

Functions of commands are named as `module:function` and imported late.
"""

import argparse
from typing import Any, Final

from vc.cli.vcctl.commands.jobs.run_options import add_run_options
from vc.cli.vcctl.output.output import CSV, OBJECT_FORMS, WIDE
from vc.cli.vcctl.parser_options import (
    WEIGHT_HELP,
    add_all_namespaces,
    add_listing,
    add_namespace,
    add_target,
    server_options,
    weight,
)

SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
The cluster is the one of -s, -k, $KUBECONFIG, ~/.kube/config or the pod this runs in, in this order.
The default namespace is `default`, as with Volcano's vcctl: the namespace of the context is not used.
explain, usage, simulate, session, queue tree and queue waiting also use the dashboard, through the API
server's service proxy: the service volcano-dashboard of volcano-system, the service with our labels, or
the service that --dashboard or $PYROCLAST_DASHBOARD_URL name as NAMESPACE/NAME. If they name a URL, the
request goes there, without credentials.
Exit codes: 0 done, 1 refused or not found, 2 wrong command line, 130 interrupted."""

_SIMULATE: Final = (
    "what-if for jobs, queues and nodes; changes nothing; exit code 1 if a job would not run"
)

Commands = Any
"""The type that `add_subparsers` returns, which is private to argparse."""


def vcctl_parser(prog: str = "vcctl") -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Volcano jobs and queues from the terminal.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[server_options()],
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_jobs(_group(commands, "job", "run, list, view, explain, suspend, resume and delete jobs"))
    _add_queues(_group(commands, "queue", "create, list, open, close and delete queues"))
    _add_pods(_group(commands, "pod", "list the pods of jobs"))
    # Both kinds have the same verbs, so they share the code and differ by `kind` only.
    for kind in ("jobflow", "jobtemplate"):
        _add_flows(_group(commands, kind, f"create, list and delete {kind}s"), kind)
    _add_usage(
        _command(commands, "usage", "usage:usage", "resource hours by queue, namespace, job or day")
    )
    _add_sessions(_group(commands, "session", "list, show and replay scheduling sessions"))
    _add_simulate(_command(commands, "simulate", "simulate:simulate", _SIMULATE))
    validate = _command(commands, "validate", "validate:validate", "check manifests, offline")
    validate.add_argument("-f", "--filename", required=True, nargs="+", metavar="FILE")
    validate.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)
    completion = _command(commands, "completion", "completion:completion", "print a shell script")
    completion.add_argument("shell", choices=SHELLS)
    version = _command(commands, "version", "version:version", "print the version")
    version.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)
    helped = _command(commands, "help", "help_command:show_help", "help about a command")
    helped.add_argument("topic", nargs="*", metavar="COMMAND", help="such as `job run`")
    # The help must show the name under which the program was started.
    helped.set_defaults(prog=prog)
    return parser


def _group(commands: Commands, name: str, text: str) -> Commands:
    group = commands.add_parser(name, help=text, description=text)
    return group.add_subparsers(required=True, metavar="COMMAND")


def _command(commands: Commands, name: str, function: str, text: str) -> argparse.ArgumentParser:
    """Add a command.

    All commands accept -s and -k, as in Volcano, because scripts pass them to all.
    """
    # Suppressed defaults: a default of the subcommand would replace a value that was given before
    # it, as in `vcctl -k FILE job list`.
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, parents=[server_options(default=argparse.SUPPRESS)]
    )
    # A name instead of the function: the module is imported only if this command runs.
    parser.set_defaults(command=f"vc.cli.vcctl.commands.{function}")
    return parser


def _add_jobs(jobs: Commands) -> None:
    run = _command(jobs, "run", "jobs.run:run", "run a job from flags or a file")
    add_run_options(run)
    listed = _command(jobs, "list", "jobs.jobs:list_jobs", "list jobs")
    add_job_filters(listed)
    add_namespace(listed)
    view = _command(jobs, "view", "jobs.view:view", "describe a job")
    add_target(view, "job")
    view.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)
    for name, text in (
        ("suspend", "remove the pods of a job and keep the job"),
        ("resume", "resume a suspended job"),
        ("delete", "delete a job"),
    ):
        add_target(_command(jobs, name, f"jobs.jobs:{name}", text), "job")
    explain = _command(jobs, "explain", "jobs.explain:explain", "explain why a job waits")
    timeline = _command(
        jobs, "timeline", "jobs.timeline:timeline", "show the events of a job with their times"
    )
    for parser in (explain, timeline):
        add_target(parser, "job")
        parser.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)
    timeline.add_argument("--trace-ui", default="", metavar="URL", help="address of the trace UI")


def add_job_filters(parser: argparse.ArgumentParser) -> None:
    """The filters that `job list` and `vjobs` share."""
    parser.add_argument("-q", "--queue", default="", help="only jobs of this queue")
    parser.add_argument("-S", "--scheduler", default="", help="only jobs of this scheduler")
    # As in Volcano's vcctl, this is a part of the name and not a label selector.
    parser.add_argument("--selector", default="", help="only jobs with this in their name")
    add_all_namespaces(parser)
    add_listing(parser)


def _add_queues(queues: Commands) -> None:
    create = _command(queues, "create", "queues.queues:create", "create a queue")
    # The defaults are those of Volcano's vcctl, on which scripts may rely.
    add_queue_name(create, default="test")
    create.add_argument("-w", "--weight", type=weight, default=1, help=WEIGHT_HELP)
    create.add_argument("-S", "--state", default="Open", choices=("Open", "Closed"))
    create.add_argument("--parent", default="", help="the queue above it")
    add_listing(_command(queues, "list", "queues.queues:list_queues", "list queues"))
    get = _command(queues, "get", "queues.queues:get", "show one queue")
    add_queue_name(get)
    get.add_argument("-o", "--output", default="", choices=(*OBJECT_FORMS, WIDE))
    operate = _command(queues, "operate", "queues.queues:operate", "open, close or change")
    add_queue_name(operate)
    operate.add_argument("-a", "--action", required=True, choices=("open", "close", "update"))
    operate.add_argument("-w", "--weight", type=weight, help=f"with update: {WEIGHT_HELP}")
    delete = _command(queues, "delete", "queues.queues:delete", "delete a queue")
    add_queue_name(delete)
    delete.add_argument(
        "--force",
        action="store_true",
        help="also while it is in use: its pods keep their nodes and belong to no queue",
    )
    tree = _command(queues, "tree", "queues.tree:tree", "shares along the hierarchy")
    tree.add_argument("-o", "--output", default="", choices=(*OBJECT_FORMS, WIDE))
    waiting = _command(
        queues,
        "waiting",
        "queues.waiting:waiting",
        "list waiting jobs in their order, with reasons",
    )
    add_queue_name(waiting)
    waiting.add_argument(
        "--estimate",
        action="store_true",
        help="also estimate when they may start, by simulation",
    )
    waiting.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)


def add_queue_name(parser: argparse.ArgumentParser, *, default: str = "") -> None:
    """Add the name of a queue. A queue has no namespace, so `-n` is its name."""
    # Scripts for Volcano write `-n NAME`, users of kubectl write the name alone.
    parser.add_argument("words", nargs="?", default="", metavar="NAME", help="the queue's name")
    parser.add_argument("-n", "--name", default=default, help="the same")


def _add_pods(pods: Commands) -> None:
    listed = _command(pods, "list", "pods:list_pods", "list the pods of jobs")
    listed.add_argument("-q", "--queue", default="", help="only of this queue")
    listed.add_argument("-j", "--job", default="", help="only of this job")
    add_namespace(listed)
    add_all_namespaces(listed)
    add_listing(listed)


def _add_flows(flows: Commands, kind: str) -> None:
    create = _command(flows, "create", "flows:create", f"create a {kind} from a file")
    create.add_argument("-f", "--filename", required=True, metavar="FILE")
    listed = _command(flows, "list", "flows:list_objects", f"list {kind}s")
    add_namespace(listed)
    add_all_namespaces(listed)
    add_listing(listed, forms=OBJECT_FORMS)
    parsers = [create, listed]
    for name in ("get", "describe", "delete"):
        parser = _command(flows, name, f"flows:{name}", f"{name} a {kind}")
        add_target(parser, kind)
        parser.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)
        parsers.append(parser)
    # One function serves both kinds and needs to find out which one was meant.
    for parser in parsers:
        parser.set_defaults(kind=kind)


def _add_usage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by", default="queue", metavar="CELLS", help="queue, namespace, job, day, with commas"
    )
    when = "a day (2026-11-16), a time (2026-11-16T14:00:00Z) or so long ago (7d, 24h)"
    parser.add_argument("--from", default="", dest="begin", metavar="WHEN", help=when)
    parser.add_argument("--to", default="", dest="end", metavar="WHEN", help="the same")
    parser.add_argument("-q", "--queue", default="", help="only of this queue")
    parser.add_argument("-n", "--namespace", default="", help="only of this namespace")
    parser.add_argument("-j", "--job", default="", help="only of this job")
    parser.add_argument("-o", "--output", default="", choices=(*OBJECT_FORMS, CSV))


def _add_sessions(sessions: Commands) -> None:
    listed = _command(sessions, "list", "session_commands:list_sessions", "the newest first")
    listed.add_argument("--limit", type=int, default=20, metavar="N", help="default: 20")
    show = _command(sessions, "show", "session_commands:show", "one in full")
    replay = _command(sessions, "replay", "session_commands:replay", "run it again and compare")
    for parser in (show, replay):
        parser.add_argument("id", metavar="ID", help="as in `session list`")
    for parser in (listed, show, replay):
        parser.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)


def _add_simulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", "--filename", nargs="+", default=[], metavar="FILE",
        help="jobs, and queues, nodes, priority classes, quotas, claims or volumes to try them with",
    )  # fmt: skip
    parser.add_argument(
        "--queue-file", nargs="+", default=[], metavar="FILE", help="new or changed queues"
    )
    parser.add_argument("--add-nodes", type=int, default=0, metavar="N", help="more nodes")
    parser.add_argument("--like", default="", metavar="NODE", help="default: the most common kind")
    parser.add_argument(
        "--drop-job", action="append", default=[], metavar="NAMESPACE/NAME", help="without this job"
    )
    add_namespace(parser)
    parser.add_argument("-o", "--output", default="", choices=OBJECT_FORMS)
