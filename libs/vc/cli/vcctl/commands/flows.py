"""`vcctl jobflow …` and `vcctl jobtemplate …`: the same verbs for two kinds."""

import argparse
import sys
from pathlib import Path
from typing import Final

from vc.cli.tables import Column, TextTable
from vc.cli.vcctl.api.connection import connect, expected
from vc.cli.vcctl.api.errors import EXIT_OK, UsageError
from vc.cli.vcctl.api.resources import (
    DEFAULT_NAMESPACE,
    JOBFLOWS,
    JOBTEMPLATES,
    JsonObject,
    Resource,
    metadata,
    status,
)
from vc.cli.vcctl.output.listing import Listing, Row, show
from vc.cli.vcctl.output.output import YAML, print_object
from vc.cli.vcctl.parser_options import namespace_of, target_of
from vc.model.values.ages import UNKNOWN_AGE, age

TITLES: Final = {
    JOBFLOWS.plural: ("Name", "Namespace", "Phase", "Age"),
    JOBTEMPLATES.plural: ("Name", "Namespace"),
}
_RESOURCES: Final = {"jobflow": JOBFLOWS, "jobtemplate": JOBTEMPLATES}


def _say_unsupported(kind: str) -> None:
    """Print the warning that admission has for the kind, after the command has done its work."""
    from vc.model.support.kinds_batch import JOBFLOW, JOBTEMPLATE

    sentence = {"jobflow": JOBFLOW, "jobtemplate": JOBTEMPLATE}[kind]
    print(f"note: {sentence}", file=sys.stderr)


def _resource(arguments: argparse.Namespace) -> tuple[Resource, str]:
    return _RESOURCES[arguments.kind], arguments.kind


def create(arguments: argparse.Namespace) -> int:
    """Create every object of this kind in the file."""
    from vc.cli.vcctl.commands.files import read_documents

    resource, what = _resource(arguments)
    wanted = (resource.api_version, resource.kind)
    documents = read_documents([Path(arguments.filename)])
    chosen = [d for d in documents if (d.get("apiVersion"), d.get("kind")) == wanted]
    # A file without a matching object is most likely the wrong file.
    if not chosen:
        raise UsageError(f"{arguments.filename}: there is no {resource.kind} in it")
    client = connect(arguments)
    for document in chosen:
        # As in Volcano, the namespace of the kubeconfig's context is not used.
        namespace = metadata(document).get("namespace") or DEFAULT_NAMESPACE
        made = client.create(resource, document, namespace=namespace)
        print(f"create {what} {metadata(made).get('name', '')} successfully")
    _say_unsupported(what)
    return EXIT_OK


def list_objects(arguments: argparse.Namespace) -> int:
    """Print a table of the jobflows or jobtemplates of a namespace or of all."""
    resource, what = _resource(arguments)
    client = connect(arguments)
    listing = Listing(
        resource=resource,
        columns=_columns(resource),
        row=lambda obj: _row(obj, resource, client.now),
        namespace=namespace_of(arguments),
    )
    code = show(client, listing, form=arguments.output, watch=arguments.watch)
    _say_unsupported(what)
    return code


def get(arguments: argparse.Namespace) -> int:
    """Show one object as a table row, or the whole object with `-o`."""
    resource, what = _resource(arguments)
    client, target = connect(arguments), target_of(arguments, what)
    with expected(target, what):
        obj = client.get(resource, target.name, namespace=target.namespace)
    if arguments.output:
        print_object(obj, arguments.output)
        return EXIT_OK
    row = _row(obj, resource, client.now)
    table = TextTable(_columns(resource), [row])
    print(table.header())
    print(table.line(row))
    return EXIT_OK


def describe(arguments: argparse.Namespace) -> int:
    """Show one whole object, as YAML by default."""
    resource, what = _resource(arguments)
    target = target_of(arguments, what)
    with expected(target, what):
        obj = connect(arguments).get(resource, target.name, namespace=target.namespace)
    print_object(obj, arguments.output or YAML)
    _say_unsupported(what)
    return EXIT_OK


def delete(arguments: argparse.Namespace) -> int:
    """Delete the named jobflow or jobtemplate, and say so."""
    resource, what = _resource(arguments)
    target = target_of(arguments, what)
    with expected(target, what):
        connect(arguments).delete(resource, target.name, namespace=target.namespace)
    print(f"delete {what} {target.name} successfully")
    return EXIT_OK


def _columns(resource: Resource) -> list[Column]:
    return [Column(title) for title in TITLES[resource.plural]]


def _row(obj: JsonObject, resource: Resource, now: float | None) -> Row:
    found = metadata(obj)
    cells = {
        "Name": str(found.get("name", "")),
        "Namespace": str(found.get("namespace", "")),
        "Phase": str((status(obj).get("state") or {}).get("phase", "")),
        "Age": UNKNOWN_AGE if now is None else age(found.get("creationTimestamp"), now=now),
    }
    return [cells[title] for title in TITLES[resource.plural]]
