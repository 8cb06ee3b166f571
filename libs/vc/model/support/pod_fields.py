"""The fields that Kubernetes has in a pod template, a claim and a selector, to detect unknown ones.

The schema of a vcjob preserves unknown fields inside these parts, and the API server drops them
from pods and claims: `resorces` would create pods that request nothing. Each type is a line of
names; `name=Type` is a field whose own fields are known too, and `name=` one whose content is free
(a map, or a part that is checked with the pod). Written for Kubernetes 1.37; fields of a later
release are not known here, so an unknown field only causes a warning.
"""

from collections.abc import Iterator
from typing import Final

from vc.model.api.struct import Json
from vc.model.support.nearest import nearest

UNKNOWN_MAX: Final = 16
"""Limit of reported unknown fields per template."""

_TYPES: Final = {
    "Template": "metadata=Meta spec=Spec",
    "Meta": """name generateName namespace labels annotations finalizers creationTimestamp ownerReferences uid
        resourceVersion generation managedFields selfLink deletionTimestamp deletionGracePeriodSeconds""",
    "Spec": """activeDeadlineSeconds affinity=Affinity automountServiceAccountToken containers=Container
        dnsConfig=Dns dnsPolicy enableServiceLinks ephemeralContainers= hostAliases=HostAlias hostIPC hostNetwork
        hostPID hostUsers hostname hostnameOverride imagePullSecrets=Name initContainers=Container nodeName
        nodeSelector os=Name overhead preemptionPolicy priority priorityClassName readinessGates=Gate
        resourceClaims=Claim resources=Resources restartPolicy runtimeClassName schedulerName
        schedulingGates=Name schedulingGroup= securityContext=PodSecurity serviceAccount serviceAccountName
        setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations=Toleration
        topologySpreadConstraints=Spread volumes=Volume workloadRef=""",
    "Container": """args command env=Env envFrom=EnvFrom image imagePullPolicy lifecycle=Lifecycle
        livenessProbe=Probe name ports=Port readinessProbe=Probe resizePolicy=Resize resources=Resources
        restartPolicy restartPolicyRules= securityContext=Security startupProbe=Probe stdin stdinOnce
        terminationMessagePath terminationMessagePolicy tty volumeDevices=Device volumeMounts=Mount workingDir""",
    "Resources": "requests limits claims=Request",
    "Request": "name request",
    "Env": "name value valueFrom=EnvSource",
    "EnvSource": """configMapKeyRef=KeyRef fieldRef=FieldRef fileKeyRef= resourceFieldRef=ResourceRef
        secretKeyRef=KeyRef""",
    "EnvFrom": "prefix configMapRef=OptionalRef secretRef=OptionalRef",
    "KeyRef": "name key optional",
    "OptionalRef": "name optional",
    "FieldRef": "apiVersion fieldPath",
    "ResourceRef": "containerName resource divisor",
    "Port": "name containerPort hostPort hostIP protocol",
    "Mount": "name mountPath mountPropagation readOnly recursiveReadOnly subPath subPathExpr",
    "Device": "name devicePath",
    "Resize": "resourceName restartPolicy",
    "Lifecycle": "postStart=Handler preStop=Handler stopSignal",
    "Handler": "exec=Exec httpGet=Http sleep=Sleep tcpSocket=Socket",
    "Probe": """exec=Exec failureThreshold grpc=Grpc httpGet=Http initialDelaySeconds periodSeconds
        successThreshold tcpSocket=Socket terminationGracePeriodSeconds timeoutSeconds""",
    "Exec": "command",
    "Http": "host httpHeaders path port scheme",
    "Sleep": "seconds",
    "Socket": "host port",
    "Grpc": "port service",
    "Security": """allowPrivilegeEscalation appArmorProfile capabilities=Capabilities privileged procMount
        readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions seccompProfile windowsOptions""",
    "Capabilities": "add drop",
    "PodSecurity": """appArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser
        seLinuxChangePolicy seLinuxOptions seccompProfile supplementalGroups supplementalGroupsPolicy sysctls
        windowsOptions""",
    "Name": "name",
    "Gate": "conditionType",
    "Claim": "name resourceClaimName resourceClaimTemplateName podGroupResourceClaim",
    "Dns": "nameservers options searches",
    "HostAlias": "hostnames ip",
    "Toleration": "effect key operator tolerationSeconds value",
    "Spread": """labelSelector=Selector matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy
        topologyKey whenUnsatisfiable""",
    "Selector": "matchExpressions=Requirement matchLabels",
    "Requirement": "key operator values",
    "Affinity": "nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAffinity",
    "NodeAffinity": """preferredDuringSchedulingIgnoredDuringExecution=PreferredNodes
        requiredDuringSchedulingIgnoredDuringExecution=RequiredNodes""",
    "PreferredNodes": "preference=NodeTerm weight",
    "RequiredNodes": "nodeSelectorTerms=NodeTerm",
    "NodeTerm": "matchExpressions=Requirement matchFields=Requirement",
    "PodAffinity": """preferredDuringSchedulingIgnoredDuringExecution=PreferredPods
        requiredDuringSchedulingIgnoredDuringExecution=PodTerm""",
    "PreferredPods": "podAffinityTerm=PodTerm weight",
    "PodTerm": """labelSelector=Selector matchLabelKeys mismatchLabelKeys namespaceSelector=Selector namespaces
        topologyKey""",
    "Volume": """name awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI
        emptyDir=EmptyDir ephemeral=Ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath=HostPath
        image iscsi nfs persistentVolumeClaim=ClaimRef photonPersistentDisk portworxVolume projected quobyte rbd
        scaleIO secret storageos vsphereVolume""",
    "EmptyDir": "medium sizeLimit",
    "HostPath": "path type",
    "ClaimRef": "claimName readOnly",
    "Ephemeral": "volumeClaimTemplate=ClaimTemplate",
    "ClaimTemplate": "metadata=Meta spec=ClaimSpec",
    "ClaimSpec": """accessModes dataSource=Source dataSourceRef=SourceRef resources=VolumeResources
        selector=Selector storageClassName volumeAttributesClassName volumeMode volumeName""",
    "Source": "apiGroup kind name",
    "SourceRef": "apiGroup kind name namespace",
    "VolumeResources": "limits requests",
}


def _read(line: str) -> dict[str, str]:
    return {name: kind for name, _, kind in (word.partition("=") for word in line.split())}


FREE_PARTS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "Job": (("spec.tasks[].template", "Template"), ("spec.volumes[].volumeClaim", "ClaimSpec")),
    "JobTemplate": (
        ("spec.tasks[].template", "Template"),
        ("spec.volumes[].volumeClaim", "ClaimSpec"),
    ),
    "CronJob": (
        ("spec.jobTemplate.metadata", "Meta"),
        ("spec.jobTemplate.spec.tasks[].template", "Template"),
        ("spec.jobTemplate.spec.volumes[].volumeClaim", "ClaimSpec"),
    ),
    "PodGroup": (("spec.subGroupPolicy[].labelSelector", "Selector"),),
}
"""The parts of each kind whose schema preserves unknown fields, with their types."""

FIELDS: Final[dict[str, dict[str, str]]] = {kind: _read(line) for kind, line in _TYPES.items()}
"""The fields of each type with the type of their values; empty for values that are not checked."""


def unknown_fields(part: Json, kind: str = "Template") -> list[tuple[str, str]]:
    """(path, nearest known field or empty) of each unknown field; at most `UNKNOWN_MAX`."""
    found: list[tuple[str, str]] = []
    for item in _walk(part, kind, ""):
        found.append(item)
        # A warning with hundreds of fields helps no user, and the API server limits its length.
        if len(found) >= UNKNOWN_MAX:
            break
    return found


def _walk(value: Json, kind: str, at: str) -> Iterator[tuple[str, str]]:
    """Walks objects and lists. A list is walked by member:
    in pods a field has one type, alone or in a list.
    """
    if isinstance(value, list):
        for index, member in enumerate(value):
            yield from _walk(member, kind, f"{at}[{index}]")
    elif isinstance(value, dict):
        known = FIELDS[kind]
        for name, below in value.items():
            path = f"{at}.{name}" if at else str(name)
            if name not in known:
                yield path, nearest(str(name), known)
            elif known[name]:
                yield from _walk(below, known[name], path)
