"""The request of an AdmissionReview, as the rules read it.

The names of the fields are those of `admission.k8s.io/v1`, so that admission decodes a review
directly into this struct. Offline validation builds one for each document.
"""

from typing import Final

from vc.model.api.struct import ApiStruct, JsonObject

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"


class GroupVersionKind(ApiStruct, frozen=True, kw_only=True):
    """Group, version and kind of the object."""

    group: str = ""
    version: str = ""
    kind: str = ""


class UserInfo(ApiStruct, frozen=True, kw_only=True):
    """The user of the request."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []


class ReviewRequest(ApiStruct, frozen=True, kw_only=True):
    """One write of one object, before it is stored."""

    uid: str
    kind: GroupVersionKind = GroupVersionKind()
    operation: str = ""
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: UserInfo = UserInfo()
    object: JsonObject | None = None
    old_object: JsonObject | None = None
