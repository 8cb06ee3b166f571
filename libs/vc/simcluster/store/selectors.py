"""Label and field selectors, combined into one filter over records."""

from typing import Final

import msgspec

from vc.model.api.selectors import (
    LabelSelectorRequirement,
    SelectorError,
    parse_selector,
    requirement_matches,
)
from vc.simcluster.store.failures import bad_request
from vc.simcluster.store.fields import selectable, stored_field
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.store import Record

FIELD_TERMS_MAX: Final = 20
_OPERATORS: Final = ("!=", "==", "=")


class FieldTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One term of a field selector: `field=value` or `field!=value`."""

    field: str
    value: str
    equal: bool


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The filter of a list or watch. An empty selection matches every record."""

    namespace: str = ""
    labels: list[LabelSelectorRequirement] = []
    fields: list[FieldTerm] = []

    @property
    def takes_all(self) -> bool:
        return not (self.namespace or self.labels or self.fields)

    def matches(self, record: Record) -> bool:
        if self.namespace and record.namespace != self.namespace:
            return False
        if not all(requirement_matches(need, record.labels) for need in self.labels):
            return False
        return all((_field(record, term.field) == term.value) is term.equal for term in self.fields)


def _field(record: Record, field: str) -> str:
    if field == "metadata.name":
        return record.name
    if field == "metadata.namespace":
        return record.namespace
    # An absent field is empty, as in the API server: `spec.nodeName=` selects unbound pods.
    return record.fields.get(field, "")


def select(
    resource: Resource, *, namespace: str = "", label_selector: str = "", field_selector: str = ""
) -> Selection:
    """Parse the selectors of a request. BadRequestError names an invalid term or field."""
    try:
        labels = parse_selector(label_selector)
    except SelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None
    fields = [_term(resource, text) for text in split_fields(field_selector)]
    return Selection(
        # A namespace given for a cluster-scoped resource must not filter everything out.
        namespace=namespace if resource.namespaced else "",
        labels=labels,
        fields=fields,
    )


def split_fields(text: str) -> list[str]:
    # Empty terms are skipped, as in the API server: clients join optional parts with commas.
    terms = [term for term in text.split(",") if term.strip()]
    # Every term is checked for every record, so their number bounds the cost of a list.
    if len(terms) > FIELD_TERMS_MAX:
        raise bad_request(
            f"field selector has {len(terms)} terms; at most {FIELD_TERMS_MAX} are taken"
        )
    return terms


def _term(resource: Resource, text: str) -> FieldTerm:
    # "!=" and "==" are tried before "=", which is a part of both.
    for operator in _OPERATORS:
        name, found, value = text.partition(operator)
        if found:
            break
    else:
        raise bad_request(f"invalid field selector: {text!r}; write field=value or field!=value")
    # Both events APIs share one storage, so their field names are unified before the lookup.
    field = stored_field(name.strip())
    known = selectable(resource)
    if field not in known:
        raise bad_request(
            f'field label not supported: "{name.strip()}" is not a known field selector: only '
            + ", ".join(f'"{one}"' for one in known)
        )
    return FieldTerm(field=field, value=value.strip(), equal=operator != "!=")
