"""`vcctl validate -f FILE…`: the checks of admission, without a cluster.

A ConfigMap with a scheduler configuration is checked like in the scheduler.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vc.cli.vcctl.api.errors import EXIT_FAILED, EXIT_OK
from vc.cli.vcctl.api.resources import JsonObject
from vc.cli.vcctl.commands.files import read_documents
from vc.cli.vcctl.output.output import print_answer

if TYPE_CHECKING:
    from vc.validation.offline import DocumentReport


def validate(arguments: argparse.Namespace) -> int:
    """Print one line per finding. The exit code is 1 if a document would be rejected."""
    from vc.validation.offline import validate_documents

    documents = read_documents(Path(name) for name in arguments.filename)
    reports = [_with_configuration(r, documents) for r in validate_documents(documents)]
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


def _with_configuration(report: "DocumentReport", documents: list[JsonObject]) -> "DocumentReport":
    """Add the findings about a scheduler configuration in the document to the report."""
    document = documents[report.position] if report.position < len(documents) else {}
    data = document.get("data") if document.get("kind") == "ConfigMap" else None
    if not isinstance(data, dict):
        return report
    import msgspec

    from vc.scheduling.conf.model import CONF_KEY
    from vc.scheduling.conf.volcano_file import ConfError
    from vc.scheduling.conf_reader import read_conf_text

    # Imported here: the scheduler's modules are needed only for a scheduler configuration.
    from vc.validation.result import FieldProblem

    text, path = data.get(CONF_KEY), f"data[{CONF_KEY}]"
    if not isinstance(text, str):
        return report
    try:
        _, reported = read_conf_text(text)
    except ConfError as error:
        problem = FieldProblem(path=path, value="", message=str(error))
        return msgspec.structs.replace(report, problems=[*report.problems, problem])
    warnings = [*report.warnings, *(f"{path}: {warning}" for warning in reported)]
    return msgspec.structs.replace(report, warnings=warnings)
