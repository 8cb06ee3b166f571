"""What objects went through is forgotten after a while; what they are is not."""

from tests.unit.simcluster.stage import make_api, make_pod, pod_names
from vc.clock import run_virtual
from vc.simcluster.schema.builtin_resources import PODS
from vc.simcluster.store.history_expiry import HISTORY_SECONDS, MARK_SECONDS


def test_the_history_of_finished_work_does_not_grow() -> None:
    async def main() -> None:
        api = make_api()
        table = api.store.table(PODS)
        longest = 0
        for number in range(200):
            await api.create(PODS, make_pod(f"p{number}"), namespace="default")
            await api.delete(
                PODS, name=f"p{number}", namespace="default", options={"gracePeriodSeconds": 0}
            )
            await api.clock.sleep(10)
            longest = max(longest, len(table.history))
        a_minute = 2 * 6
        assert longest <= (HISTORY_SECONDS + 2 * MARK_SECONDS) / 60 * a_minute
        await api.create(PODS, make_pod("last"), namespace="default")
        assert pod_names(api) == ["last"]

    run_virtual(main())


def test_the_newest_change_of_a_quiet_kind_stays() -> None:
    """Whoever watches from it goes on, however much happens elsewhere."""

    async def main() -> None:
        api = make_api()
        made = await api.create(PODS, make_pod("quiet"), namespace="default")
        for _ in range(40):
            await api.clock.sleep(MARK_SECONDS)
            await api.create(
                api.registry.lookup("", "v1", "configmaps"),
                {"metadata": {"generateName": "c-"}},
                namespace="default",
            )
        version = made["metadata"]["resourceVersion"]
        watch = api.watch(PODS, resource_version=version, timeout_seconds=1)
        assert [event.type async for event in watch if event.type != "BOOKMARK"] == []

    run_virtual(main())
