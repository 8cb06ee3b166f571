"""Who am I and may I: the embedded cluster has one user, who may do everything.

Whoever that user acts as (`kubectl --as`) may write what it likes too, since nothing is authorised here;
but a SubjectAccessReview about such a name is answered as for a tenant with the chart's `edit` role, who
has no rights on what belongs to the cluster.
"""

from typing import Final

from aiohttp import web

from vc_model.keys import SYSTEM_NAMESPACE
from vc_model.kinds import ACCESS_REVIEWS
from vc_model.struct import Json, JsonObject

USER: Final = "pyroclast-admin"
_USER_LENGTH_MAX: Final = 256
_GROUPS: Final = ("system:masters", "system:authenticated")
_ANSWERS: Final[dict[str, JsonObject]] = {
    "selfsubjectaccessreviews": {
        "allowed": True,
        "reason": "the embedded cluster allows everything",
    },
    "selfsubjectrulesreviews": {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    },
    "selfsubjectreviews": {"userInfo": {"username": USER, "groups": list(_GROUPS)}},
    "tokenreviews": {
        "authenticated": True,
        "user": {"username": USER, "groups": list(_GROUPS)},
    },
}


ADMINISTRATORS: Final = "system:masters"
_SERVICES: Final = f"system:serviceaccounts:{SYSTEM_NAMESPACE}"


def answer_access(body: JsonObject) -> JsonObject:
    """A SubjectAccessReview with its answer."""
    spec = body.get("spec")
    asked: JsonObject = spec if isinstance(spec, dict) else {}
    groups = asked.get("groups")
    known = frozenset(g for g in groups if isinstance(g, str)) if isinstance(groups, list) else ()
    user = asked.get("user")
    allowed = (
        user in ("", USER)
        or ADMINISTRATORS in known
        or _SERVICES in known
        or str(user).startswith(f"system:serviceaccount:{SYSTEM_NAMESPACE}:")
    )
    return {**body, "status": {"allowed": allowed}}


def answer_review(plural: str, body: JsonObject) -> JsonObject | None:
    """The review with its answer; None when it is not a question we know."""
    if plural == ACCESS_REVIEWS.plural:
        return answer_access(body)
    answer: Json = _ANSWERS.get(plural)
    return None if answer is None else {**body, "status": answer}


def user_of(request: web.Request) -> str:
    """Who asks: the one user, or whom it acts as (`kubectl --as`)."""
    return request.headers.get("Impersonate-User", "")[:_USER_LENGTH_MAX] or USER
