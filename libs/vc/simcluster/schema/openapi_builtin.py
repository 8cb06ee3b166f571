"""The main fields of Kubernetes' own kinds, in our words, for `kubectl explain`.

The descriptions are not validation rules: fields that are not listed are stored as well.
"""

from typing import Final

from vc.simcluster.schema.openapi_notation import Notation

_SELECTOR: Final[Notation] = {
    "": "Which objects are meant, by their labels. All conditions must hold.",
    "matchLabels": "map: Labels and the values they must have.",
    "matchExpressions": [
        {
            "": "Conditions on labels.",
            "key": "string: The label.",
            "operator": "string: In, NotIn, Exists or DoesNotExist.",
            "values": "string[]: The values for In and NotIn.",
        }
    ],
}
_RESOURCES: Final[Notation] = {
    "": "What the container needs and may use.",
    "requests": "quantities: The amount reserved on the node, which the scheduler counts.",
    "limits": "quantities: What the container may use at most. Requests that are left out follow.",
    "claims": "object: Claims on devices.",
}
_CONTAINER: Final[Notation] = {
    "": "A container of the pod.",
    "name": "string: Name of the container, unique in the pod.",
    "image": "string: The image to run.",
    "command": "string[]: The program to run instead of the image's entry point.",
    "args": "string[]: Arguments of the program.",
    "workingDir": "string: The folder it starts in.",
    "env": [
        {
            "": "Environment variables.",
            "name": "string: Name of the variable.",
            "value": "string: Its value.",
            "valueFrom": "object: Where to take the value from.",
        }
    ],
    "envFrom": "object: ConfigMaps and Secrets whose entries become variables.",
    "ports": [
        {
            "": "Ports that the container listens on.",
            "name": "string: Name of the port.",
            "containerPort": "integer: The port inside the container.",
            "hostPort": "integer: The port on the node; only one pod of a node can have it.",
            "protocol": "string: TCP, UDP or SCTP.",
        }
    ],
    "resources": _RESOURCES,
    "volumeMounts": [
        {
            "": "Where volumes of the pod appear in the container.",
            "name": "string: Name of the volume.",
            "mountPath": "string: The path in the container.",
            "subPath": "string: A path inside the volume.",
            "readOnly": "boolean: Whether writing is refused.",
        }
    ],
    "livenessProbe": "object: A check that restarts the container when it fails.",
    "readinessProbe": "object: A check that takes the pod out of services while it fails.",
    "startupProbe": "object: A check that must pass before the others begin.",
    "lifecycle": "object: What to run after the start and before the stop.",
    "imagePullPolicy": "string: Always, IfNotPresent or Never.",
    "securityContext": "object: User, capabilities and other rights of the container.",
}
_POD_SPEC: Final[Notation] = {
    "": "What the pod runs and where it may run.",
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "volumes": "object: Volumes that containers can mount.",
    "nodeName": "string: The node that the pod is bound to.",
    "nodeSelector": "map: Labels that the node must have.",
    "affinity": "object: Nodes and pods that the pod wants to be near to or away from.",
    "tolerations": [
        {
            "": "Taints of nodes that the pod puts up with.",
            "key": "string: Key of the taint; all taints when it is empty.",
            "operator": "string: Exists or Equal.",
            "value": "string: Value of the taint, for Equal.",
            "effect": "string: NoSchedule, PreferNoSchedule or NoExecute; all when it is empty.",
            "tolerationSeconds": "long: How long a NoExecute taint is tolerated.",
        }
    ],
    "topologySpreadConstraints": "object: How evenly pods must be spread.",
    "schedulerName": "string: The scheduler that places the pod.",
    "schedulingGates": "object: Names that hold the pod back until they are removed.",
    "priorityClassName": "string: The PriorityClass of the pod.",
    "priority": "integer: The priority; it comes from the PriorityClass.",
    "preemptionPolicy": "string: Never, or PreemptLowerPriority.",
    "restartPolicy": "string: Always, OnFailure or Never.",
    "terminationGracePeriodSeconds": "long: How long the pod may take to stop.",
    "activeDeadlineSeconds": "long: The pod fails when it has run for so long.",
    "serviceAccountName": "string: The account that the pod acts as.",
    "hostname": "string: Host name of the pod.",
    "subdomain": "string: Service under which the host name is found.",
    "hostNetwork": "boolean: Whether the pod uses the node's network.",
    "dnsPolicy": "string: How names are resolved.",
    "imagePullSecrets": "object: Secrets for pulling images.",
    "securityContext": "object: User, groups and other rights of all containers.",
}
_TEMPLATE: Final[Notation] = {
    "": "The pod to make.",
    "metadata": "object: Labels and annotations of the pods.",
    "spec": _POD_SPEC,
}
_CONDITIONS: Final[list[Notation]] = [
    {
        "": "What is known about the object, one entry per type.",
        "type": "string: The name of the condition.",
        "status": "string: True, False or Unknown.",
        "reason": "string: Why, in one word.",
        "message": "string: Why, in a sentence.",
        "lastTransitionTime": "time: When the status changed last.",
    }
]
_POD: Final[dict[str, Notation]] = {
    "": "Containers that run together on one node.",
    "spec": _POD_SPEC,
    "status": {
        "": "What became of the pod.",
        "phase": "string: Pending, Running, Succeeded, Failed or Unknown.",
        "reason": "string: Why, in one word.",
        "message": "string: Why, in a sentence.",
        "podIP": "string: The address of the pod.",
        "hostIP": "string: The address of its node.",
        "startTime": "time: When the node took the pod.",
        "nominatedNodeName": "string: The node where pods are being preempted for this pod.",
        "conditions": _CONDITIONS,
        "containerStatuses": "object: State, restarts and exit code of every container.",
        "initContainerStatuses": "object: The same of the init containers.",
    },
}
_NODE: Final[dict[str, Notation]] = {
    "": "A machine that runs pods. In the embedded cluster it is simulated.",
    "spec": {
        "": "What is wanted of the node.",
        "unschedulable": "boolean: No new pods go there while this is true.",
        "taints": "object: Marks that keep away pods which do not tolerate them.",
        "podCIDR": "string: Addresses of its pods.",
        "providerID": "string: The machine's name at its provider.",
    },
    "status": {
        "": "What the node offers and how it is.",
        "capacity": "quantities: Everything the node has.",
        "allocatable": "quantities: What pods can have of it.",
        "conditions": _CONDITIONS,
        "addresses": "object: Addresses and names of the node.",
        "nodeInfo": "object: Versions of its software.",
    },
}
_SERVICE: Final[dict[str, Notation]] = {
    "": "A name and address for a set of pods.",
    "spec": {
        "": "Which pods and which ports.",
        "selector": "map: Labels of the pods.",
        "type": "string: ClusterIP, NodePort, LoadBalancer or ExternalName.",
        "clusterIP": "string: The address; None gives every pod a name of its own instead.",
        "ports": [
            {
                "": "Ports of the service.",
                "name": "string: Name of the port.",
                "port": "integer: The port of the service.",
                "targetPort": "intOrString: The port of the pods, by number or name.",
                "protocol": "string: TCP, UDP or SCTP.",
                "nodePort": "integer: The port on every node.",
            }
        ],
        "publishNotReadyAddresses": "boolean: Whether pods are found before they are ready.",
    },
    "status": "object: Addresses of a load balancer.",
}
_EVENT: Final[dict[str, Notation]] = {
    "": "Something that happened to an object.",
    "involvedObject": "object: The object it happened to.",
    "reason": "string: What happened, in one word.",
    "message": "string: What happened, in a sentence.",
    "type": "string: Normal or Warning.",
    "count": "integer: How often it happened.",
    "firstTimestamp": "time: When it happened first.",
    "lastTimestamp": "time: When it happened last.",
    "source": "object: Who says so.",
}


def _workload(description: str, **fields: Notation) -> dict[str, Notation]:
    spec: dict[str, Notation] = {
        "": "How many pods and of what kind.",
        "selector": _SELECTOR,
        "template": _TEMPLATE,
        **fields,
    }
    return {"": description, "spec": spec, "status": "object: How far it has come."}


_REPLICAS: Final = "integer: How many pods there should be."
_HOOKS: Final[Notation] = "object: The webhooks, in the order in which they are called."

DESCRIBED: Final[dict[tuple[str, str], dict[str, Notation]]] = {
    ("", "Pod"): _POD,
    ("", "Node"): _NODE,
    ("", "Service"): _SERVICE,
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Namespace"): {
        "": "A scope for names.",
        "spec": {"": "What is wanted.", "finalizers": "string[]: Who must agree to its end."},
        "status": {"": "Its state.", "phase": "string: Active or Terminating."},
    },
    ("", "ConfigMap"): {
        "": "Texts by name, for configuration.",
        "data": "map: Texts by name.",
        "binaryData": "object: Bytes by name, in base64.",
        "immutable": "boolean: Whether it can be changed.",
    },
    ("", "Secret"): {
        "": "Bytes by name that need a permission to read.",
        "type": "string: What the secret is for.",
        "data": "object: Bytes by name, in base64.",
        "stringData": "map: Texts by name; they are put into data when the object is written.",
        "immutable": "boolean: Whether it can be changed.",
    },
    ("", "PersistentVolumeClaim"): {
        "": "A request for storage.",
        "spec": {
            "": "What is wanted.",
            "accessModes": "string[]: ReadWriteOnce, ReadOnlyMany, ReadWriteMany.",
            "resources": _RESOURCES,
            "storageClassName": "string: The StorageClass that makes the volume.",
            "volumeName": "string: The volume that the claim is bound to.",
        },
        "status": "object: Phase and capacity.",
    },
    ("", "ResourceQuota"): {
        "": "What a namespace may use at most.",
        "spec": {"": "The limits.", "hard": "quantities: The limit of every resource."},
        "status": "object: Limits and use.",
    },
    ("scheduling.k8s.io", "PriorityClass"): {
        "": "A name for a priority.",
        "value": "integer: The priority; higher ones go first.",
        "globalDefault": "boolean: Whether pods that name no class get this one.",
        "description": "string: When to use it.",
        "preemptionPolicy": "string: Never, or PreemptLowerPriority.",
    },
    ("coordination.k8s.io", "Lease"): {
        "": "Who leads, and until when.",
        "spec": {
            "": "The lease.",
            "holderIdentity": "string: Who holds it.",
            "leaseDurationSeconds": "integer: How long it lasts after a renewal.",
            "acquireTime": "time: When it was taken.",
            "renewTime": "time: When it was renewed.",
            "leaseTransitions": "integer: How often the holder changed.",
        },
    },
    ("apps", "Deployment"): _workload(
        "Equal pods that are renewed step by step.", replicas=_REPLICAS
    ),
    ("apps", "ReplicaSet"): _workload("A number of equal pods.", replicas=_REPLICAS),
    ("apps", "StatefulSet"): _workload(
        "Pods that keep their names and volumes.",
        replicas=_REPLICAS,
        serviceName="string: The service that gives the pods their names.",
    ),
    ("apps", "DaemonSet"): _workload("One pod on every node."),
    ("batch", "Job"): _workload(
        "Pods that run to their end.",
        parallelism="integer: How many pods run at the same time.",
        completions="integer: How many must succeed.",
        backoffLimit="integer: How many may fail.",
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): {
        "": "Webhooks that may change an object before it is stored.",
        "webhooks": _HOOKS,
    },
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): {
        "": "Webhooks that may reject an object before it is stored.",
        "webhooks": _HOOKS,
    },
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {
        "": "A new kind of object.",
        "spec": {
            "": "The kind.",
            "group": "string: Its group.",
            "names": "object: Kind, plural, singular, list kind and short names.",
            "scope": "string: Namespaced or Cluster.",
            "versions": "object: Versions with schemas, columns and subresources.",
        },
        "status": "object: Whether the kind is served.",
    },
}

OBJECT_META: Final[Notation] = {
    "": "What every object has.",
    "name": "string: The name, unique among the objects of its kind in the namespace.",
    "generateName": "string: The beginning of a name that the server completes.",
    "namespace": "string: The namespace.",
    "labels": "map: Short values to select objects by.",
    "annotations": "map: Values that cannot be used in selectors.",
    "uid": "string: Identifies this object among others of the same name, earlier or later.",
    "resourceVersion": "string: Changes with every write.",
    "generation": "long: Changes when what is wanted changes.",
    "creationTimestamp": "time: When the object was made.",
    "deletionTimestamp": "time: When the deletion of the object was requested.",
    "deletionGracePeriodSeconds": "long: How long it may take.",
    "finalizers": "string[]: Who must agree before the object is gone.",
    "ownerReferences": "object: Whose the object is; it is deleted when they are gone.",
    "managedFields": "object: Who set which fields.",
}
