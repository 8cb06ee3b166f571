"""Access reviews: the embedded cluster has one user, which may do everything.

Impersonated users (`kubectl --as`) may write everything as well, because nothing is authorised
here. A SubjectAccessReview about an impersonated user is answered as for a tenant with the chart's
`edit` role, which has no permissions on cluster-scoped objects.
"""

from typing import Final

from aiohttp import web

from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.api.kinds import ACCESS_REVIEWS
from vc.model.api.struct import Json, JsonObject

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
    """Return a SubjectAccessReview with its result."""
    spec = body.get("spec")
    attributes: JsonObject = spec if isinstance(spec, dict) else {}
    groups = attributes.get("groups")
    known = frozenset(g for g in groups if isinstance(g, str)) if isinstance(groups, list) else ()
    user = attributes.get("user")
    allowed = (
        user in ("", USER)
        or ADMINISTRATORS in known
        or _SERVICES in known
        or str(user).startswith(f"system:serviceaccount:{SYSTEM_NAMESPACE}:")
    )
    return {**body, "status": {"allowed": allowed}}


def answer_review(plural: str, body: JsonObject) -> JsonObject | None:
    """Return the review with its result. None for an unknown review."""
    if plural == ACCESS_REVIEWS.plural:
        return answer_access(body)
    answer: Json = _ANSWERS.get(plural)
    return None if answer is None else {**body, "status": answer}


def user_of(request: web.Request) -> str:
    """The user of a request: the one user, or the impersonated user (`kubectl --as`)."""
    return request.headers.get("Impersonate-User", "")[:_USER_LENGTH_MAX] or USER
