"""Reasons and session records as answered by the API: amounts are Kubernetes quantities.

On the bus a reason contains integers in the unit of each resource, because programs compute with
them. Clients do not know that unit: `8000` pods are 8. So the API uses the same structs with each
amount as a quantity (`"8"`, `"500m"`, `"16Gi"`). They inherit every other field, so a new field of
a reason is answered without a change here.
"""

import msgspec

from vc.messages.sessions import Amount, JobReason, Reason, SessionRecord, Unblock
from vc.model.api.struct import ResourceList
from vc.model.values.quantity import decimals_of, format_quantity, format_resources


class AmountAnswer(Amount, frozen=True, kw_only=True):
    """One resource, in Kubernetes quantities."""

    needed: str  # type: ignore[assignment] # the whole point: a quantity in place of units
    available: str  # type: ignore[assignment]
    missing: str  # type: ignore[assignment]


class UnblockAnswer(Unblock, frozen=True, kw_only=True):
    """What would take a reason away; amounts are quantities, of each pod where `pods` is given."""

    amounts: ResourceList = {}  # type: ignore[assignment]
    also: list["UnblockAnswer"] = []  # type: ignore[assignment]


class ReasonAnswer(Reason, frozen=True, kw_only=True):
    """No, because; amounts are quantities."""

    amounts: list[AmountAnswer] = []  # type: ignore[assignment]
    unblock: UnblockAnswer | None = None


class JobReasonAnswer(JobReason, frozen=True, kw_only=True):
    """A job that waited; amounts are quantities."""

    reason: ReasonAnswer


class SessionRecordAnswer(SessionRecord, frozen=True, kw_only=True):
    """A session that changed something; amounts are quantities."""

    reasons: list[JobReasonAnswer]  # type: ignore[assignment]


def answered_reason(reason: Reason) -> ReasonAnswer:
    """The reason for the API."""
    fields = msgspec.structs.asdict(reason)
    fields["amounts"] = [_amount(amount) for amount in reason.amounts]
    fields["unblock"] = answered_unblock(reason.unblock) if reason.unblock is not None else None
    return ReasonAnswer(**fields)


def answered_unblock(unblock: Unblock) -> UnblockAnswer:
    """The unblocking change for the API."""
    fields = msgspec.structs.asdict(unblock)
    fields["amounts"] = format_resources(unblock.amounts)
    fields["also"] = [answered_unblock(other) for other in unblock.also]
    return UnblockAnswer(**fields)


def answered_record(record: SessionRecord) -> SessionRecordAnswer:
    """The record of a session for the API."""
    fields = msgspec.structs.asdict(record)
    fields["reasons"] = [
        JobReasonAnswer(**{**msgspec.structs.asdict(said), "reason": answered_reason(said.reason)})
        for said in record.reasons
    ]
    return SessionRecordAnswer(**fields)


def _amount(amount: Amount) -> AmountAnswer:
    decimals = decimals_of(amount.resource)
    fields = msgspec.structs.asdict(amount)
    for name in ("needed", "available", "missing"):
        fields[name] = format_quantity(fields[name], decimals=decimals)
    return AmountAnswer(**fields)
