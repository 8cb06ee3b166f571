"""Objects of another owner that have the name of ours are neither used nor changed nor removed."""

import pytest

from tests.unit.plugins.requests import SECRET, answer, owned, request, ssh
from vc.jobplugin.answers import ObjectReference
from vc.messages.effects import CreateObject, DeleteObject, PatchObject
from vc.model.api.kinds import CONFIGMAPS, JOBS, SECRETS, SERVICES
from vc.plugin_ray.logic import RayCore
from vc.plugin_svc.logic import SvcCore

FOREIGN = [
    pytest.param(owned("another job"), id="another job's"),
    pytest.param(owned(group="batch/v1"), id="a batch Job's"),
    pytest.param(owned(kind="JobFlow"), id="another kind's"),
    pytest.param(owned(controls=False), id="this job's, which does not control it"),
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_what_another_owner_has_is_neither_used_nor_removed(foreign: dict[str, object]) -> None:
    removal = request(verb="remove")
    service = ObjectReference(SERVICES, "ns", "j")
    for core in (SvcCore(), RayCore()):
        assert core.remove(removal, {service: foreign}).effects == ()
    assert ssh().remove(removal, {SECRET: foreign}).effects == ()
    made: list[str] = []
    answer(ssh(made), found={SECRET: {**foreign, "data": {"id_ed25519": "eA=="}}})
    assert made == ["ed25519"], "their keys are not ours"


@pytest.mark.parametrize("foreign", FOREIGN)
def test_what_another_owner_has_is_never_patched(foreign: dict[str, object]) -> None:
    """It is created again for this job: whether the name is free shows when it is written."""
    hosts = ObjectReference(CONFIGMAPS, "ns", "j-svc")
    kept = {**foreign, "data": {"VC_GONE_NUM": "1"}}
    found = [answer(SvcCore(), found={hosts: kept})]
    found.append(answer(ssh(), found={SECRET: {**foreign, "data": {"id_rsa": "eA=="}}}))
    for decorated in found:
        assert not [e for e in decorated.effects if isinstance(e, PatchObject)]
        made = [e for e in decorated.effects if isinstance(e, CreateObject)]
        assert {(e.owner_uid, e.owner_kind) for e in made} == {("job-1", JOBS)}
    (secret,) = [e for e in found[1].effects if isinstance(e, CreateObject)]
    assert "id_ed25519" in secret.body["data"], "named by the type of our own key"


def test_ssh_removes_no_secret_but_its_own() -> None:
    """A Secret that the user names stays, also when this job controls it."""
    given = ObjectReference(SECRETS, "ns", "given")
    removed = ssh().remove(request(verb="remove"), {given: owned(), SECRET: owned()}).effects
    assert [e.name for e in removed if isinstance(e, DeleteObject)] == ["j-ssh"]
