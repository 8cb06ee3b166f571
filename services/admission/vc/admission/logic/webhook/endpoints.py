"""The served paths: the kind and operations of each webhook.

The dispatcher, the HTTP routes and the webhook configurations use this one table,
so that they cannot differ. The names of webhooks are those of upstream, because
users see them in error messages.

Unlike upstream, a job is also defaulted when it is changed: `kubectl apply` replaces the list of
tasks by the one in the file, which has none of the defaults of the admitted job.
"""

from typing import Final

import msgspec

from vc.model.api import kinds
from vc.model.api.kinds import Kind
from vc.validation.request import CREATE, DELETE, UPDATE


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One webhook: a kind, its operations, and whether it mutates or validates."""

    kind: Kind
    mutates: bool
    operations: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"/{self.kind.plural}/{'mutate' if self.mutates else 'validate'}"

    @property
    def webhook(self) -> str:
        verb = "mutate" if self.mutates else "validate"
        return f"{verb}{self.kind.kind.lower()}.volcano.sh"


def _mutate(kind: Kind, *operations: str) -> Endpoint:
    return Endpoint(kind=kind, mutates=True, operations=operations)


def _validate(kind: Kind, *operations: str) -> Endpoint:
    return Endpoint(kind=kind, mutates=False, operations=operations)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    _mutate(kinds.JOBS, CREATE, UPDATE),
    _validate(kinds.JOBS, CREATE, UPDATE),
    _mutate(kinds.QUEUES, CREATE),
    _validate(kinds.QUEUES, CREATE, UPDATE, DELETE),
    _mutate(kinds.PODGROUPS, CREATE, UPDATE),
    _validate(kinds.PODGROUPS, CREATE, UPDATE),
    _mutate(kinds.PODS, CREATE),
    _validate(kinds.PODS, CREATE),
    _validate(kinds.JOBFLOWS, CREATE, UPDATE),
    _validate(kinds.JOBTEMPLATES, CREATE, UPDATE),
    _validate(kinds.HYPERNODES, CREATE, UPDATE),
    _validate(kinds.CRONJOBS, CREATE, UPDATE),
    _validate(kinds.COMMANDS, CREATE, UPDATE),
)

BY_PATH: Final[dict[str, Endpoint]] = {endpoint.path: endpoint for endpoint in ENDPOINTS}
