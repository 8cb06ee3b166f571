"""Two replicas whose Lease is deleted: exactly one of them decides, whenever that happens."""

from tests.unit.scheduler.shell import Shell
from vc.clock import run_virtual
from vc.model.api.kinds import LEASES
from vc.runtime.leading.election import LEASE_SECONDS, REQUEST_SECONDS_MAX

DELETIONS = 8
APART_SECONDS = 2 * (LEASE_SECONDS + REQUEST_SECONDS_MAX) + 0.3
"""No multiple of a renewal, so that each falls between two of them elsewhere."""
LOOK_SECONDS = 0.05


def test_a_deleted_lease_gives_no_second_scheduler_and_work_goes_on() -> None:
    async def story() -> None:
        async with Shell(schedulers=2) as shell:
            await shell.nodes(1)
            await shell.gang("first", 1)
            await shell.until(lambda: shell.bound("first") == 1, "the first is bound")
            (leader,) = [each for each in shell.schedulers if each._lead.leading]
            for number in range(DELETIONS):
                await shell.cluster.delete(LEASES, name="vc-scheduler", namespace="volcano-system")
                await shell.gang(f"after-{number}", 1)
                for _ in range(int(APART_SECONDS / LOOK_SECONDS)):
                    await shell.clock.sleep(LOOK_SECONDS)
                    assert [each for each in shell.schedulers if each._lead.leading] == [leader]
                assert shell.bound(f"after-{number}") == 1
            assert leader._lead.epoch == 1, "it never changed hands"

    run_virtual(story())
