"""Ownership of an existing object, by group, kind and uid and a live read, before it is adopted or deleted."""

from typing import Any

import pytest

from tests.unit.runtime.effects_world import OLDER, OWNER, World, config_map, run
from vc.clock import run_virtual
from vc.messages.effects import DeleteObject, Effect, LiveObject
from vc.model.api.kinds import CONFIGMAPS, JOBS
from vc.runtime.applying.effects import OutcomeStatus


async def vcjob(world: World, name: str = "job") -> str:
    """A job of that name; its uid."""
    body = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "metadata": {"name": name}}
    made = await world.store.create(JOBS, body, namespace="default")
    return str(made["metadata"]["uid"])


def test_what_an_older_incarnation_left_is_removed_and_then_created_again() -> None:
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


@pytest.mark.parametrize(("field", "other"), [("kind", "CronJob"), ("name", "another")])
def test_an_owner_of_another_kind_or_name_is_foreign(field: str, other: str) -> None:
    async def test(world: World) -> None:
        uid = await vcjob(world)
        theirs = config_map("a", owner=OLDER).body
        (reference,) = theirs["metadata"]["ownerReferences"]
        body = {
            **theirs,
            "metadata": {**theirs["metadata"], "ownerReferences": [{**reference, field: other}]},
        }
        made = await world.store.create(CONFIGMAPS, body, namespace="default")
        (outcome,) = await world.apply(config_map("a", owner=uid, wanted_by=uid))
        assert outcome.status is OutcomeStatus.FOREIGN
        assert await world.store.get(CONFIGMAPS, name="a", namespace="default") == made

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


class Between(World):
    """Another writer comes between the read of an object and its deletion."""

    def __init__(self, *, replaces: bool) -> None:
        super().__init__()
        self._replaces = replaces

    def __getattr__(self, name: str) -> Any:
        real = super().__getattr__(name)
        if name != "delete":
            return real

        async def delete(*args: Any, **kwargs: Any) -> Any:
            where: dict[str, Any] = {"name": "a", "namespace": "default"}
            if self._replaces:
                found = await self.store.get(CONFIGMAPS, **where)
                await self.store.delete(CONFIGMAPS, **where)
                metadata = {k: found["metadata"][k] for k in ("name", "ownerReferences")}
                body = {**found, "metadata": metadata}
                await self.store.create(CONFIGMAPS, body, namespace="default")
            else:
                await self.store.patch(CONFIGMAPS, {"data": {"adopted": "yes"}}, **where)
            return await real(*args, **kwargs)

        return delete


@pytest.mark.parametrize("replaces", [True, False], ids=["another uid", "another version"])
def test_what_changed_since_it_was_read_is_not_removed(replaces: bool) -> None:
    """What an older owner left is removed as it was read, or not at all."""

    async def main() -> None:
        world = Between(replaces=replaces)
        uid = await vcjob(world)
        left = config_map("a", owner=OLDER).body
        (gone,) = left["metadata"]["ownerReferences"]
        second = {
            **gone,
            "name": "second",
            "uid": await vcjob(world, "second"),
            "controller": False,
        }
        left["metadata"]["ownerReferences"] = [gone, second]  # else the garbage collector comes
        made = await world.store.create(CONFIGMAPS, left, namespace="default")
        assert (
            await world.status_of(config_map("a", owner=uid, wanted_by=uid)) is OutcomeStatus.STALE
        )
        assert "delete" in world.calls
        kept = await world.store.get(CONFIGMAPS, name="a", namespace="default")
        assert (kept["metadata"]["uid"] != made["metadata"]["uid"]) is replaces

    run_virtual(main())


@pytest.mark.parametrize("replaces", [True, False], ids=["another uid", "another version"])
def test_a_delete_is_of_the_object_that_was_decided_on(replaces: bool) -> None:
    async def main() -> None:
        world = Between(replaces=replaces)
        (outcome,) = await world.apply(config_map("a"))
        assert outcome.written is not None
        metadata = outcome.written["metadata"]
        effect = DeleteObject(
            kind=CONFIGMAPS,
            namespace="default",
            name="a",
            uid=metadata["uid"],
            resource_version="" if replaces else metadata["resourceVersion"],
        )
        status = OutcomeStatus.DONE if replaces else OutcomeStatus.STALE
        assert await world.status_of(effect) is status
        assert await world.store.get(CONFIGMAPS, name="a", namespace="default")

    run_virtual(main())
