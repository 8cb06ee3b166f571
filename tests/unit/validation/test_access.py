"""Who counts as one of our services, which classes and queues are for whom, and what is asked about it."""

from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import (
    Case,
    case_id,
    job,
    queue,
    read_queue,
    task,
    template,
    world,
)
from vc.admission.logic.lookups import needed
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import BY_PATH
from vc.admission.logic.webhook.wire import ReviewResponse
from vc.model.api.kinds import COMMANDS, PODGROUPS, QUEUES
from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.struct import JsonObject
from vc.validation.access import GROUPS_SENT_MAX, access_check
from vc.validation.class_quotas import by_namespace
from vc.validation.request import CREATE, UPDATE, ReviewRequest, UserInfo
from vc.validation.world import World

OURS = "system:serviceaccount:volcano-system:volcano-scheduler"
CRITICAL = "system-cluster-critical"
ALICE = UserInfo(username="alice", groups=["team-a", "system:authenticated"])


def ask(
    path: str,
    raw: JsonObject,
    known: World,
    *,
    by: UserInfo = ALICE,
    old: JsonObject | None = None,
    namespace: str = "ml",
) -> ReviewResponse:
    operation = CREATE if old is None else UPDATE
    request = ReviewRequest(
        uid="1", operation=operation, namespace=namespace, object=raw, old_object=old, user_info=by
    )
    return review(request, known, endpoint=BY_PATH[path])


def group(*, notes: JsonObject | None = None, **spec: Any) -> JsonObject:
    return {
        "apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind,
        "metadata": {"name": "g", "annotations": notes or {}},
        "spec": {"minMember": 1, "queue": "default", **spec},
    }  # fmt: skip


MUTATE, VALIDATE = "/podgroups/mutate", "/podgroups/validate"

# -- whose writes are ours ---------------------------------------------------------------------------

NOTED: JsonObject = {"volcano.sh/job-version": "2", "volcano.sh/completed-members": '{"w":"0"}'}


@pytest.mark.parametrize(
    ("user", "accounts", "restores"),
    [
        pytest.param(OURS, (OURS,), False, id="our service writes what it likes"),
        pytest.param("alice", (OURS,), True, id="a tenant does not"),
        pytest.param(OURS + "-2", (OURS,), True, id="nor an account whose name begins like ours"),
        pytest.param(OURS[:-1], (OURS,), True, id="nor one whose name is the beginning of ours"),
        pytest.param("", (OURS,), True, id="an empty name"),
        pytest.param("alice", (), False, id="without accounts nothing is restored"),
    ],
)
def test_status_and_annotations_are_restored_for_all_but_our_services(
    user: str, accounts: tuple[str, ...], restores: bool
) -> None:
    known, by = world(accounts=accounts), UserInfo(username=user)
    made = {**group(notes=NOTED), "status": {"phase": "Inqueue"}}
    created = ask(MUTATE, made, known, by=by).patch
    assert bool(created) == restores
    old = {**group(), "status": {"phase": "Pending"}}
    changed = ask(MUTATE, made, known, by=by, old=old).patch
    assert bool(changed) == restores


def test_our_services_make_groups_in_the_queue_of_the_namespace() -> None:
    """They are asked about too when they create: the webhook's condition lets creations through."""
    by = UserInfo(username=OURS)
    patch = ask(MUTATE, group(notes=NOTED), world(accounts=(OURS,)), by=by, namespace="team").patch
    assert patch == [{"op": "replace", "path": "/spec/queue", "value": "team-queue"}]


def test_the_webhook_asks_about_creations_of_all_and_changes_of_others() -> None:
    from vc.admission.logic.webhook.pod_conditions import others_condition

    expression = others_condition([OURS])["expression"]
    assert expression == (
        f"request.operation == 'CREATE' || !(request.userInfo.username in [\"{OURS}\"])"
    )


# -- commands ----------------------------------------------------------------------------------------


def order(kind: str = "Queue") -> JsonObject:
    return {
        "apiVersion": COMMANDS.api_version, "kind": COMMANDS.kind, "metadata": {"name": "c"},
        "action": "CloseQueue",
        "target": {"apiVersion": QUEUES.api_version, "kind": kind, "name": "default", "uid": "u"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("user", "namespace", "kind", "asks"),
    [
        ("alice", "ml", "Queue", True),
        ("alice", "ml", "Job", False),
        ("alice", "volcano-system", "Queue", False),
        (OURS, "ml", "Queue", False),
    ],
)
def test_a_command_for_a_queue_needs_a_right_that_is_checked(
    user: str, namespace: str, kind: str, asks: bool
) -> None:
    """What is asked for is what the rule looks at: else it would never be granted, or always."""
    known, by = world(accounts=(OURS,)), UserInfo(username=user, groups=["team-a"])
    response = ask("/commands/validate", order(kind), known, by=by, namespace=namespace)
    assert response.allowed is not asks
    request = ReviewRequest(
        uid="1", operation=CREATE, namespace=namespace, object=order(kind), user_info=by
    )
    wanted = needed(request, known, endpoint=BY_PATH["/commands/validate"]).access
    assert (wanted is not None) == asks
    if wanted is not None:
        assert (wanted.username, wanted.groups, wanted.verb, wanted.queue) == (
            user, ("team-a",), "update", "default",
        )  # fmt: skip
        granted = msgspec.structs.replace(known, granted=frozenset({wanted}))
        assert ask("/commands/validate", order(kind), granted, by=by, namespace=namespace).allowed


def test_groups_of_a_user_are_sent_up_to_a_bound() -> None:
    many = UserInfo(username="u", groups=[f"g{n}" for n in range(GROUPS_SENT_MAX + 1)])
    assert len(access_check(many, verb="use", queue="q").groups) == GROUPS_SENT_MAX


# -- priority classes --------------------------------------------------------------------------------


def quota(*terms: JsonObject, namespace: str = "ml", **hard: str) -> ResourceQuota:
    named = [{"scopeName": "PriorityClass", **term} for term in terms]
    raw = {
        "metadata": {"name": "q", "namespace": namespace},
        "spec": {"hard": hard or {"pods": "5"}, "scopeSelector": {"matchExpressions": named}},
    }
    return msgspec.convert(raw, ResourceQuota)


def among(*names: str) -> JsonObject:
    return {"operator": "In", "values": list(names)}


def under(*quotas: ResourceQuota) -> World:
    return msgspec.structs.replace(world(), quotas=by_namespace(quotas))


CLASS_CASES = [
    (CRITICAL, "ml", (), False),
    (CRITICAL, "kube-system", (), True),
    (CRITICAL, "volcano-system", (), True),
    ("high", "ml", (), True),
    (CRITICAL, "ml", (quota(among(CRITICAL)),), True),
    (CRITICAL, "ml", (quota(among("high")),), False),
    (CRITICAL, "ml", (quota(among(CRITICAL), namespace="other"),), False),
    (CRITICAL, "ml", (quota({"operator": "NotIn", "values": ["high"]}),), True),
    (CRITICAL, "ml", (quota({"operator": "NotIn", "values": [CRITICAL]}),), False),
    (CRITICAL, "ml", (quota({"operator": "Exists"}),), True),
    (CRITICAL, "ml", (quota({"operator": "DoesNotExist"}),), False),
    (CRITICAL, "ml", (quota(among(CRITICAL), among("high")),), False),
    (CRITICAL, "ml", (quota({"operator": "In", "values": CRITICAL}),), False),
    ("high", "ml", (quota(among("high"), pods="0"),), False),
    ("high", "ml", (quota(among("high"), **{"count/pods": "0"}),), False),
    ("high", "ml", (quota(among("low"), pods="0"),), True),
    ("high", "ml", (quota(among("high")), quota(among("high"), pods="0")), False),
    ("high", "kube-system", (quota(among("high"), namespace="kube-system", pods="0"),), False),
]


@pytest.mark.parametrize(
    ("name", "namespace", "quotas", "allowed"),
    CLASS_CASES,
    ids=[f"{n} in {ns} {[q.spec.scope_selector for q in qs]}" for n, ns, qs, _ in CLASS_CASES],
)
def test_a_class_is_for_namespaces_of_the_system_or_with_a_quota_of_it(
    name: str, namespace: str, quotas: tuple[ResourceQuota, ...], allowed: bool
) -> None:
    raw = group(priorityClassName=name)
    assert ask(VALIDATE, raw, under(*quotas), namespace=namespace).allowed is allowed
    submitted = job(priorityClassName=name)
    submitted["metadata"]["namespace"] = namespace
    assert ask("/jobs/validate", submitted, under(*quotas), namespace=namespace).allowed is allowed
    inside = job(tasks=[task(template=template(priorityClassName=name))])
    inside["metadata"]["namespace"] = namespace
    assert ask("/jobs/validate", inside, under(*quotas), namespace=namespace).allowed is allowed


CHANGES = [
    Case(says="another class is judged", object={"priorityClassName": CRITICAL}, refused="classes system-"),
    Case(says="a class that it has already is not", object={"priorityClassName": CRITICAL, "was": CRITICAL}),
]  # fmt: skip


@pytest.mark.parametrize("case", CHANGES, ids=case_id)
def test_a_change_is_judged_by_what_is_new(case: Case) -> None:
    new, was = case.object["priorityClassName"], case.object.get("was", "")
    for path, made in ((VALIDATE, group), ("/jobs/validate", job)):
        answer = ask(path, made(priorityClassName=new), world(), old=made(priorityClassName=was))
        assert answer.allowed is (not case.refused), path
        assert case.refused in answer.message


def test_our_services_make_groups_of_jobs_that_were_judged_before() -> None:
    """The job's class and queue were judged when it was submitted; the rules may be others by now."""
    barred = read_queue(queue("team"))
    notes = {"volcano.sh/allowed-namespaces": "other"}
    metadata = msgspec.structs.replace(barred.metadata, annotations=notes)
    known = world(msgspec.structs.replace(barred, metadata=metadata), accounts=(OURS,))
    raw = group(priorityClassName=CRITICAL, queue="team")
    assert ask(VALIDATE, raw, known, by=UserInfo(username=OURS)).allowed
    assert not ask(VALIDATE, raw, known).allowed


# -- queues ------------------------------------------------------------------------------------------


def listing(name: str, namespaces: str) -> World:
    closed = read_queue(queue(name))
    notes = {"volcano.sh/allowed-namespaces": namespaces}
    metadata = msgspec.structs.replace(closed.metadata, annotations=notes)
    return world(msgspec.structs.replace(closed, metadata=metadata))


def test_a_group_that_is_in_a_queue_already_may_change_otherwise() -> None:
    known = listing("team", "other")
    old = group(queue="team")
    assert ask(VALIDATE, group(queue="team", minMember=3), known, old=old).allowed
    assert not ask(VALIDATE, group(queue="team"), known, old=group()).allowed


@pytest.mark.parametrize("path", [VALIDATE, "/jobs/validate"])
def test_no_queue_is_the_default_queue(path: str) -> None:
    known = listing("default", "other")
    raw = group(queue="") if path == VALIDATE else job(queue="")
    answer = ask(path, raw, known)
    assert not answer.allowed
    assert "may not use queue 'default'" in answer.message


@pytest.mark.parametrize(
    ("account", "user"),
    [("", "system:serviceaccount:ml:default"), ("runner", "system:serviceaccount:ml:runner")],
)
def test_the_right_to_use_is_checked_for_the_account_of_a_controllers_pod(
    account: str, user: str
) -> None:
    known = world(queue_use_review=True)
    by = UserInfo(username="system:serviceaccount:kube-system:replicaset-controller")
    spec: JsonObject = {"schedulerName": "volcano", "containers": []}
    if account:
        spec["serviceAccountName"] = account
    raw = {
        "apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": "p", "annotations": {"scheduling.volcano.sh/queue-name": "default"}},
    }  # fmt: skip
    request = ReviewRequest(uid="1", operation=CREATE, namespace="ml", object=raw, user_info=by)
    asked = needed(request, known, endpoint=BY_PATH["/pods/validate"]).access
    assert asked is not None
    assert asked.username == user
    assert asked.groups == (
        "system:serviceaccounts", "system:serviceaccounts:ml", "system:authenticated",
    )  # fmt: skip
    granted = msgspec.structs.replace(known, granted=frozenset({asked}))
    assert not ask("/pods/validate", raw, known, by=by).allowed
    assert ask("/pods/validate", raw, granted, by=by).allowed


def test_our_services_need_no_right_to_use() -> None:
    known = world(queue_use_review=True, accounts=(OURS,))
    for path, raw in ((VALIDATE, group()), ("/jobs/validate", job())):
        assert ask(path, raw, known, by=UserInfo(username=OURS)).allowed
        assert not ask(path, raw, known).allowed


def test_a_closed_queue_takes_no_group_and_keeps_those_it_has() -> None:
    known = world(read_queue(queue("shut"), state="Closed"))
    assert not ask(VALIDATE, group(queue="shut"), known).allowed
    assert not ask(VALIDATE, group(queue="shut"), known, old=group()).allowed
    there = group(queue="shut")
    assert ask(VALIDATE, group(queue="shut", minMember=2), known, old=there).allowed
