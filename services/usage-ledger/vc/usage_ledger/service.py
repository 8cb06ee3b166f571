"""The shell: follow pods, PodGroups and vcjobs; lead; keep the ledger.

Every replica observes all pods. The leader publishes and stores usage, once its view has reached the
state of the API server at the time it began to lead: with less it would close an hour without pods
that its predecessor had charged.
"""

import os
from typing import Final

from vc.model.api.kinds import JOBS, PODGROUPS, PODS
from vc.runtime.hosting.context import Context
from vc.runtime.leading.replica import Lead
from vc.usage_ledger.config import Config
from vc.usage_ledger.keeper import LedgerKeeper
from vc.usage_ledger.metrics import export_ledger

POLL_SECONDS: Final = 0.1
REST_SECONDS: Final = 0.1
"""Pause between two polls. The end of a deleted pod may be late by this time."""
FOLLOWED: Final = (PODS, PODGROUPS, JOBS)
"""Pods are charged; PodGroups and vcjobs name their queues."""


class UsageLedgerService:
    """One replica of the usage-ledger. The leader writes."""

    def __init__(self, context: Context, config: Config) -> None:
        self.name = context.name
        self._config = config
        self._context = context
        self._lead = Lead(context, FOLLOWED, rest_seconds=REST_SECONDS)
        self._may_write = False
        """Whether this replica leads, and the view includes the writes of the last leader."""
        self._keeper = LedgerKeeper(
            context,
            config,
            view=lambda: self._lead.view,
            # Checked again at each write: the lease may have passed on since the last poll.
            may_write=lambda: self._may_write and self._lead.goes_on,
            epoch=lambda: self._lead.epoch,
        )
        export_ledger(context, self._keeper.ledger, leading=lambda: self._lead.leading)

    def unready(self) -> str:
        """Why the service is not ready, or empty."""
        return self._lead.unready()

    async def run(self) -> None:
        await self._lead.run(self._follow(), self._keeper.run())

    async def _follow(self) -> None:
        while True:
            batch = await self._lead.follower.poll(wait_seconds=POLL_SECONDS)
            ready = not self._lead.unready()
            self._keeper.apply(batch.changes, rebuilt=batch.rebuilt, ready=ready)
            taken_over = await self._lead.taken_over()
            self._may_write = taken_over and ready


def build(context: Context, config: Config | None = None) -> UsageLedgerService:
    """Create the service. Without a Config, the environment is read."""
    return UsageLedgerService(context, config or Config.from_env(os.environ))
