"""The same rules for manifests, without a cluster. `vcctl validate -f` runs this.

Documents are processed in order, as `kubectl apply` does: each is defaulted, validated, and
known to the documents after it. Objects that are not in the files cannot be checked, so a
reference to them is a warning.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from vc.model.api import kinds
from vc.model.api.job import JobTemplate
from vc.model.api.keys import DEFAULT_QUEUE, ROOT_QUEUE
from vc.model.api.kinds import Kind
from vc.model.api.kubernetes import Namespace
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import Queue
from vc.model.api.struct import Json, JsonObject
from vc.validation.job.create import check_job_spec, name_of
from vc.validation.reading import NESTING_MAX, read, too_deep
from vc.validation.request import CREATE, ReviewRequest
from vc.validation.result import FieldProblem, ValidationResult
from vc.validation.rules import MUTATORS, VALIDATORS, defaulted, validate
from vc.validation.support import answer
from vc.validation.world import World

DOCUMENTS_MAX: Final = 10_000

_KINDS: Final[dict[tuple[str, str], Kind]] = {
    (kind.api_version, kind.kind): kind for kind in (*VALIDATORS, kinds.NAMESPACES)
}


class DocumentReport(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of one document."""

    position: int
    """Position from 0 over all documents, after lists were expanded."""
    kind: str = ""
    name: str = ""
    problems: list[FieldProblem] = []
    warnings: list[str] = []


def offline_world(world: World | None = None) -> World:
    """A world with only the queues that every cluster has."""
    always = [Queue(metadata=ObjectMeta(name=name)) for name in (ROOT_QUEUE, DEFAULT_QUEUE)]
    # An unknown queue would be a warning in every file, although these two always exist.
    grown = (world or World()).with_queues(always)
    return msgspec.structs.replace(grown, complete=False)


def validate_documents(
    documents: Iterable[Json], *, world: World | None = None
) -> list[DocumentReport]:
    """One report per document. Reports of other kinds are empty."""
    reports: list[DocumentReport] = []
    known = offline_world(world)
    for position, document in enumerate(_opened(documents)):
        # The limit protects the command line from a file with endless documents.
        if position >= DOCUMENTS_MAX:
            found = ValidationResult()
            found.refuse("documents", f"more than {DOCUMENTS_MAX}; the rest was not looked at")
            reports.append(DocumentReport(position=position, problems=found.problems))
            break
        report, known = _validate(document, position=position, world=known)
        reports.append(report)
    return reports


def _opened(documents: Iterable[Json]) -> Iterator[Json]:
    """The documents one by one. Empty ones are omitted and lists are expanded."""
    for document in documents:
        if document is None:
            continue
        items = document.get("items") if isinstance(document, dict) else None
        # `kubectl` accepts lists, so they are expanded as it does.
        if isinstance(items, list) and str(document.get("kind", "")).endswith("List"):
            yield from items
        else:
            yield document


def _validate(document: Json, *, position: int, world: World) -> tuple[DocumentReport, World]:
    found = ValidationResult()
    # A document that is no object cannot name its kind.
    if not isinstance(document, dict):
        found.refuse("document", "is not an object; write apiVersion, kind, metadata and spec")
        return DocumentReport(position=position, problems=found.problems), world
    if too_deep(document):
        found.refuse("document", f"is nested deeper than {NESTING_MAX} levels; flatten it")
        return DocumentReport(position=position, problems=found.problems), world
    kind = _KINDS.get((_text(document, "apiVersion"), _text(document, "kind")))
    if kind is not None:
        document = _check(found, document, kind=kind, world=world)
        # A later document may use a queue or namespace of an earlier one.
        world = _with(world, kind, document)
    metadata = document.get("metadata")
    report = DocumentReport(
        position=position,
        kind=_text(document, "kind"),
        name=_text(metadata, "name") or _text(metadata, "generateName"),
        problems=found.problems,
        warnings=found.warnings,
    )
    return report, world


def _check(
    found: ValidationResult, document: JsonObject, *, kind: Kind, world: World
) -> JsonObject:
    """Default and validate an object of our kinds. Returns it with defaults."""
    # Problems of a template are errors here, while its webhook only warns about them.
    if kind is kinds.JOBTEMPLATES:
        template = read(document, JobTemplate, found)
        if template is not None:
            name = name_of(template.metadata)
            check_job_spec(found, template.spec, job_name=name, world=world)
            answer(found, kind.kind, document, operation=CREATE)
        return document
    # Mutating webhooks run before validating ones, as on the API server.
    if kind in MUTATORS:
        document = defaulted(_request(document, kind), world, kind=kind)
    if kind in VALIDATORS:
        validate(found, _request(document, kind), world, kind=kind)
    return document


def _request(document: JsonObject, kind: Kind) -> ReviewRequest:
    metadata = document.get("metadata")
    return ReviewRequest(
        uid="offline",
        operation=CREATE,
        name=_text(metadata, "name"),
        namespace=(_text(metadata, "namespace") or "default") if kind.namespaced else "",
        object=document,
    )


def _with(world: World, kind: Kind, document: JsonObject) -> World:
    """The world with an object that later documents may refer to."""
    if kind is kinds.QUEUES:
        queue = read(document, Queue, ValidationResult())
        return world.with_queues([queue]) if queue is not None else world
    if kind is kinds.NAMESPACES:
        namespace = read(document, Namespace, ValidationResult())
        return world.with_namespaces([namespace]) if namespace is not None else world
    return world


def _text(value: Json, field: str) -> str:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
