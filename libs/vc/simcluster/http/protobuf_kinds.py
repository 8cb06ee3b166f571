"""Field numbers of the messages that kubectl sends as protobuf.

The form is `number: "name: kind"`. Kinds are string, bytes, int, bool, time, quantity, `map <kind>`
with string keys, or another message. `[]` marks a repeated field. `*` marks a field that is kept
even when it is zero, because its absence has another meaning. Fields that only a server sets
(status) are ignored.
"""

from typing import Final

Fields = dict[int, str]

IGNORED: Final = "ignored"

_DELETE_OPTIONS: Final[Fields] = {
    1: "gracePeriodSeconds: int*",
    2: "preconditions: Preconditions",
    3: "orphanDependents: bool*",
    4: "propagationPolicy: string",
    5: "dryRun: string[]",
    6: "ignoreStoreReadErrorWithClusterBreakingPotential: ignored",
}

MESSAGES: Final[dict[str, Fields]] = {
    "Unknown": {
        1: "typeMeta: TypeMeta",
        2: "raw: bytes",
        3: "contentEncoding: ignored",
        4: "contentType: ignored",
    },
    "TypeMeta": {1: "apiVersion: string", 2: "kind: string"},
    "ObjectMeta": {
        1: "name: string",
        2: "generateName: string",
        3: "namespace: string",
        4: "selfLink: ignored",
        5: "uid: string",
        6: "resourceVersion: string",
        7: "generation: int",
        8: "creationTimestamp: time",
        9: "deletionTimestamp: time",
        10: "deletionGracePeriodSeconds: int*",
        11: "labels: map string",
        12: "annotations: map string",
        13: "ownerReferences: OwnerReference[]",
        14: "finalizers: string[]",
        17: "managedFields: ignored",
    },
    "OwnerReference": {
        1: "kind: string",
        3: "name: string",
        4: "uid: string",
        5: "apiVersion: string",
        6: "controller: bool*",
        7: "blockOwnerDeletion: bool*",
    },
    "Preconditions": {1: "uid: string", 2: "resourceVersion: string"},
    "DeleteOptions": _DELETE_OPTIONS,
    "Eviction": {1: "metadata: ObjectMeta", 2: "deleteOptions: DeleteOptions"},
    "Namespace": {1: "metadata: ObjectMeta", 2: "spec: NamespaceSpec", 3: "status: ignored"},
    "NamespaceSpec": {1: "finalizers: string[]"},
    "ConfigMap": {
        1: "metadata: ObjectMeta",
        2: "data: map string",
        3: "binaryData: map bytes",
        4: "immutable: bool*",
    },
    "Secret": {
        1: "metadata: ObjectMeta",
        2: "data: map bytes",
        3: "type: string",
        4: "stringData: map string",
        5: "immutable: bool*",
    },
    "ServiceAccount": {
        1: "metadata: ObjectMeta",
        3: "imagePullSecrets: LocalObjectReference[]",
        4: "automountServiceAccountToken: bool*",
    },
    "LocalObjectReference": {1: "name: string"},
    "PriorityClass": {
        1: "metadata: ObjectMeta",
        2: "value: int*",
        3: "globalDefault: bool",
        4: "description: string",
        5: "preemptionPolicy: string",
    },
    "ResourceQuota": {
        1: "metadata: ObjectMeta",
        2: "spec: ResourceQuotaSpec",
        3: "status: ignored",
    },
    "ResourceQuotaSpec": {1: "hard: map quantity", 2: "scopes: string[]"},
    "Scale": {1: "metadata: ObjectMeta", 2: "spec: ScaleSpec", 3: "status: ignored"},
    "ScaleSpec": {1: "replicas: int*"},
    "SelfSubjectAccessReview": {
        1: "metadata: ObjectMeta",
        2: "spec: AccessSpec",
        3: "status: ignored",
    },
    "AccessSpec": {
        1: "resourceAttributes: ResourceAttributes",
        2: "nonResourceAttributes: NonResourceAttributes",
    },
    "ResourceAttributes": {
        1: "namespace: string",
        2: "verb: string",
        3: "group: string",
        4: "version: string",
        5: "resource: string",
        6: "subresource: string",
        7: "name: string",
        8: "fieldSelector: ignored",
        9: "labelSelector: ignored",
    },
    "NonResourceAttributes": {1: "path: string", 2: "verb: string"},
    "SelfSubjectRulesReview": {
        1: "metadata: ObjectMeta",
        2: "spec: RulesSpec",
        3: "status: ignored",
    },
    "RulesSpec": {1: "namespace: string"},
    "SelfSubjectReview": {1: "metadata: ObjectMeta", 2: "status: ignored"},
}

KINDS: Final[dict[tuple[str, str], str]] = {
    ("v1", "Namespace"): "Namespace",
    ("v1", "ConfigMap"): "ConfigMap",
    ("v1", "Secret"): "Secret",
    ("v1", "ServiceAccount"): "ServiceAccount",
    ("v1", "ResourceQuota"): "ResourceQuota",
    ("scheduling.k8s.io/v1", "PriorityClass"): "PriorityClass",
    ("policy/v1", "Eviction"): "Eviction",
    ("autoscaling/v1", "Scale"): "Scale",
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): "SelfSubjectAccessReview",
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview"): "SelfSubjectRulesReview",
    ("authentication.k8s.io/v1", "SelfSubjectReview"): "SelfSubjectReview",
    **{
        (version, "DeleteOptions"): "DeleteOptions"
        for version in ("v1", "meta.k8s.io/v1", "apps/v1", "batch/v1", "policy/v1")
    },
}
"""The message of every supported kind. DeleteOptions use the version of the deleted object."""
