"""`vcctl validate -f FILE…`: what admission would say, without a cluster."""

import argparse
from pathlib import Path

from vc_cli.ctl.errors import EXIT_FAILED, EXIT_OK
from vc_cli.ctl.files import read_documents
from vc_cli.ctl.output import print_answer


def validate(arguments: argparse.Namespace) -> int:
    """A line per finding; 1 when a document would be refused."""
    from vc_admission.logic.offline import validate_documents

    documents = read_documents(Path(name) for name in arguments.filename)
    reports = validate_documents(documents)
    refused = sum(bool(report.problems) for report in reports)
    if arguments.output:
        import msgspec

        print_answer(msgspec.to_builtins(reports), arguments.output)
        return EXIT_FAILED if refused else EXIT_OK
    for report in reports:
        where = f"{report.kind} {report.name}".strip()
        for problem in report.problems:
            print(f"{where}: {problem}")
        for warning in report.warnings:
            print(f"{where}: warning: {warning}")
    warned = sum(len(report.warnings) for report in reports)
    print(f"{len(reports)} objects: {refused} would be refused, {warned} warnings")
    return EXIT_FAILED if refused else EXIT_OK
