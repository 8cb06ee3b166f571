"""Parts that all objects have: metadata, owner references, and keys."""

from vc.model.api.struct import ApiStruct


class OwnerReference(ApiStruct, frozen=True, kw_only=True):
    """The owner of an object; the object is garbage-collected when its owner is deleted."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(ApiStruct, frozen=True, kw_only=True):
    """Metadata without managedFields and other fields that no decision uses."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []


class ApiObject(ApiStruct, frozen=True, kw_only=True):
    """An object with its own identity."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` for cluster-scoped objects."""
        return object_key(self.metadata.namespace, self.metadata.name)


def object_key(namespace: str, name: str) -> str:
    """The key of an object on its topic."""
    return f"{namespace}/{name}" if namespace else name


def split_key(key: str) -> tuple[str, str]:
    """Namespace (empty for cluster-scoped objects) and name."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The owner that controls the object, if there is one."""
    for owner in metadata.owner_references:
        if owner.controller:
            return owner
    return None


def group_of_version(api_version: str) -> str:
    """The API group of an `apiVersion`; empty for the core group."""
    return api_version.rpartition("/")[0]
