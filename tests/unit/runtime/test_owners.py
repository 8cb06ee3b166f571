"""Whose an object is before it is taken for ours or deleted: group, kind and uid, and a live proof."""

import pytest

from tests.unit.runtime.effects_world import OLDER, OWNER, World, config_map, run
from vc_messages.effects import DeleteObject, Effect, LiveObject
from vc_model.kinds import CONFIGMAPS, JOBS
from vc_runtime.effects import OutcomeStatus


async def vcjob(world: World, name: str = "job") -> str:
    """A job of that name; its uid."""
    body = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "metadata": {"name": name}}
    made = await world.store.create(JOBS, body, namespace="default")
    return str(made["metadata"]["uid"])


def test_what_an_older_incarnation_left_is_removed_and_then_made_anew() -> None:
    async def test(world: World) -> None:
        uid = await vcjob(world)
        await world.store.create(CONFIGMAPS, config_map("a", owner=OLDER).body, namespace="default")
        wanted = config_map("a", owner=uid, wanted_by=uid)
        assert await world.status_of(wanted) is OutcomeStatus.STALE
        assert await world.status_of(wanted) is OutcomeStatus.DONE
        made = await world.store.get(CONFIGMAPS, name="a", namespace="default")
        assert made["metadata"]["ownerReferences"][0]["uid"] == uid

    run(test)


@pytest.mark.parametrize("newer_exists", [True, False])
def test_a_stale_owner_removes_nothing_of_a_newer_one_of_its_name(newer_exists: bool) -> None:
    async def test(world: World) -> None:
        newer = await vcjob(world) if newer_exists else OLDER
        theirs = config_map("a", owner=newer)
        made = await world.store.create(CONFIGMAPS, theirs.body, namespace="default")
        (outcome,) = await world.apply(config_map("a"))
        assert outcome.status is OutcomeStatus.STALE
        assert OWNER in outcome.error
        assert "delete" not in world.calls
        if newer_exists:  # else the garbage collector may have come
            assert await world.store.get(CONFIGMAPS, name="a", namespace="default") == made

    run(test)


def test_a_batch_job_of_the_same_name_is_another_owner() -> None:
    async def test(world: World) -> None:
        uid = await vcjob(world)
        batch = config_map("a", owner=OLDER, group="batch/v1")
        made = await world.store.create(CONFIGMAPS, batch.body, namespace="default")
        (outcome,) = await world.apply(config_map("a", owner=uid, wanted_by=uid))
        assert outcome.status is OutcomeStatus.FOREIGN
        assert await world.store.get(CONFIGMAPS, name="a", namespace="default") == made
        forged = config_map("b", owner=uid, group="batch/v1")
        await world.store.create(CONFIGMAPS, forged.body, namespace="default")
        again = config_map("b", owner=uid, wanted_by=uid)
        assert await world.status_of(again) is OutcomeStatus.FOREIGN, "its uid alone is not enough"

    run(test)


def test_a_delete_that_needs_its_owner_waits_for_the_proof() -> None:
    async def test(world: World) -> None:
        uid = await vcjob(world)
        made = [await world.store.create(CONFIGMAPS, config_map(f"c-{n}", owner=OLDER).body,
                                         namespace="default") for n in range(20)]  # fmt: skip

        def deletes(owner: str) -> list[Effect]:
            proof = LiveObject(kind=JOBS, namespace="default", name="job", uid=owner)
            return [
                DeleteObject(
                    kind=CONFIGMAPS,
                    namespace="default",
                    name=obj["metadata"]["name"],
                    uid=obj["metadata"]["uid"],
                    only_if_live=proof,
                )
                for obj in made
            ]

        assert {o.status for o in await world.apply(*deletes(OWNER))} == {OutcomeStatus.STALE}
        assert "delete" not in world.calls
        world.calls.clear()
        assert {o.status for o in await world.apply(*deletes(uid))} == {OutcomeStatus.DONE}
        assert world.calls.count("delete") == len(made)
        assert world.calls.count("get") == 1, "who is under way at the same time shares the read"

    run(test)


def test_a_delete_of_a_version_that_is_not_the_newest_is_stale() -> None:
    async def test(world: World) -> None:
        (made,) = await world.apply(config_map("a"))
        assert made.written is not None
        metadata = made.written["metadata"]
        await world.store.patch(CONFIGMAPS, {"data": {"x": "y"}}, name="a", namespace="default")
        effect = DeleteObject(
            kind=CONFIGMAPS,
            namespace="default",
            name="a",
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )
        assert await world.status_of(effect) is OutcomeStatus.STALE
        assert await world.store.get(CONFIGMAPS, name="a", namespace="default")

    run(test)
