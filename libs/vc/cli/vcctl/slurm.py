"""The slurm-like tools: vsub, vjobs, vqueues, vcancel, vsuspend, vresume.

In Volcano these tools swap the short flags: `-n` is the name and `-N` the namespace.
"""

import argparse
import os
from collections.abc import Sequence

from vc.cli.vcctl.api.errors import UsageError
from vc.cli.vcctl.api.resources import DEFAULT_NAMESPACE
from vc.cli.vcctl.commands.jobs.run_options import add_size_options
from vc.cli.vcctl.entry import run
from vc.cli.vcctl.output.output import JSON, WIDE, YAML
from vc.cli.vcctl.parser import add_job_filters, add_queue_name
from vc.cli.vcctl.parser_options import Target, add_listing, connection

_HERE = "vc.cli.vcctl.slurm"


def _parser(prog: str, function: str, text: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=text, parents=[connection()])
    parser.set_defaults(command=f"{_HERE}:{function}")
    return parser


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="?", default="", metavar="NAME", help="the job's name")
    parser.add_argument("-n", "--name", default="", help="the same")
    parser.add_argument("-N", "--namespace", default="default", help="default: default")


def _target(arguments: argparse.Namespace, *, usual: str = DEFAULT_NAMESPACE) -> Target:
    name = arguments.words or arguments.name
    if not name:
        raise UsageError("which job? Write its name, or -n NAME")
    return Target(arguments.namespace or usual, name)


# -- vsub ------------------------------------------------------------------------------------------


def vsub_parser() -> argparse.ArgumentParser:
    """The parser of vsub. Defaults come from environment variables, as in Volcano."""
    parser = _parser("vsub", "submit", "Run a job.")
    given = os.environ.get
    _add_job(parser)
    # Empty means that the environment or the file decides about the namespace.
    parser.set_defaults(namespace="")
    parser.add_argument("-i", "--image", default=given("VOLCANO_DEFAULT_IMAGE") or "busybox")
    parser.add_argument("-S", "--scheduler", default=given("VOLCANO_SCHEDULER_NAME") or "volcano")
    parser.add_argument("-c", "--command", dest="words_to_run", default="", help="what to run")
    parser.add_argument("-f", "--filename", default="", metavar="FILE", help="jobs from a file")
    add_size_options(parser)
    return parser


def submit(arguments: argparse.Namespace) -> int:
    """The command of `vsub`."""
    from vc.cli.vcctl.api.connection import connect
    from vc.cli.vcctl.commands.jobs import run as job_run

    usual = os.environ.get("VOLCANO_DEFAULT_JOB_NAMESPACE") or DEFAULT_NAMESPACE
    if arguments.filename:
        return job_run.run_file(arguments, usual=usual)
    target = _target(arguments, usual=usual)
    flags = job_run.JobFlags(
        name=target.name,
        namespace=target.namespace,
        image=arguments.image,
        minimum=arguments.min,
        replicas=arguments.replicas,
        requests=arguments.requests,
        limits=arguments.limits,
        scheduler=arguments.scheduler,
        command=arguments.words_to_run,
    )
    manifest = job_run.job_of(flags)
    return job_run.submit(connect(arguments), manifest, namespace=target.namespace)


# -- listing ---------------------------------------------------------------------------------------


def vjobs_parser() -> argparse.ArgumentParser:
    """The parser of vjobs: the list of jobs, or one job by name."""
    parser = _parser("vjobs", "show_jobs", "List jobs, or show one.")
    _add_job(parser)
    add_job_filters(parser)
    return parser


def show_jobs(arguments: argparse.Namespace) -> int:
    """The command of `vjobs`."""
    if not (arguments.words or arguments.name):
        from vc.cli.vcctl.commands.jobs.jobs import list_jobs

        return list_jobs(arguments)
    from vc.cli.vcctl.api.connection import connect
    from vc.cli.vcctl.commands.jobs.view import show_job

    # One job has no wide form; it is shown like `vcctl job view`.
    form = "" if arguments.output == WIDE else arguments.output
    return show_job(connect(arguments), _target(arguments), form=form)


def vqueues_parser() -> argparse.ArgumentParser:
    """The parser of vqueues: the list of queues, or one queue by name."""
    parser = _parser("vqueues", "show_queues", "List queues, or show one.")
    add_queue_name(parser)
    add_listing(parser, forms=(JSON, YAML, WIDE))
    return parser


def show_queues(arguments: argparse.Namespace) -> int:
    """The command of `vqueues`."""
    from vc.cli.vcctl.commands.queues import queues

    chosen = queues.show_queue if arguments.words or arguments.name else queues.show_queues
    return chosen(arguments, titles=queues.SLURM_TITLES)


# -- acting ----------------------------------------------------------------------------------------


def _act_parser(prog: str, function: str, text: str) -> argparse.ArgumentParser:
    parser = _parser(prog, function, text)
    _add_job(parser)
    return parser


def cancel(arguments: argparse.Namespace) -> int:
    """The command of `vcancel`."""
    from vc.cli.vcctl.api.connection import connect
    from vc.cli.vcctl.commands.jobs.jobs import remove

    return remove(connect(arguments), _target(arguments), verb="cancel")


def suspend(arguments: argparse.Namespace) -> int:
    """The command of `vsuspend`."""
    return _command(arguments, action="AbortJob", verb="suspend")


def resume(arguments: argparse.Namespace) -> int:
    """The command of `vresume`."""
    return _command(arguments, action="ResumeJob", verb="resume")


def _command(arguments: argparse.Namespace, *, action: str, verb: str) -> int:
    from vc.cli.vcctl.api.connection import connect
    from vc.cli.vcctl.commands.jobs.jobs import act

    return act(connect(arguments), _target(arguments), action=action, verb=verb)


# -- console scripts -------------------------------------------------------------------------------


def vsub(argv: Sequence[str] | None = None) -> None:
    """The entry point of `vsub`, which runs a job."""
    run(vsub_parser(), argv)


def vjobs(argv: Sequence[str] | None = None) -> None:
    """The entry point of `vjobs`, which lists jobs."""
    run(vjobs_parser(), argv)


def vqueues(argv: Sequence[str] | None = None) -> None:
    """The entry point of `vqueues`, which lists queues."""
    run(vqueues_parser(), argv)


def vcancel(argv: Sequence[str] | None = None) -> None:
    """The entry point of `vcancel`, which deletes a job."""
    run(_act_parser("vcancel", "cancel", "Cancel a job."), argv)


def vsuspend(argv: Sequence[str] | None = None) -> None:
    """The entry point of `vsuspend`, which suspends a job."""
    run(_act_parser("vsuspend", "suspend", "Suspend a job."), argv)


def vresume(argv: Sequence[str] | None = None) -> None:
    """The entry point of `vresume`, which resumes a job."""
    run(_act_parser("vresume", "resume", "Resume a suspended job."), argv)
