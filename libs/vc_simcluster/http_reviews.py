"""Who am I and may I: the embedded cluster has one user, who may do everything."""

from typing import Final

from vc_model.struct import Json, JsonObject

USER: Final = "pyroclast-admin"
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
    "subjectaccessreviews": {
        "allowed": True,
        "reason": "the embedded cluster allows everything",
    },
    "tokenreviews": {
        "authenticated": True,
        "user": {"username": USER, "groups": list(_GROUPS)},
    },
}


def answer_review(plural: str, body: JsonObject) -> JsonObject | None:
    """The review with its answer; None when it is not a question we know."""
    answer: Json = _ANSWERS.get(plural)
    return None if answer is None else {**body, "status": answer}
