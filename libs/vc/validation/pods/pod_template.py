"""The pod template of a task, checked for what the API server would refuse.

Refusing the job reports at once what would otherwise be an Event about a pod that is never created.
Only common mistakes of the core validation are covered: containers, names, images, resources,
ports, volumes and mounts. Templates are read loosely: undeclared fields are left to the API server.
"""

from typing import Final

import msgspec

from vc.model.api.struct import ApiStruct, JsonObject, ResourceList
from vc.model.compat import Compat
from vc.validation.names import check_label, check_qualified, is_label_key
from vc.validation.pods.container_resources import check_resources
from vc.validation.reading import read
from vc.validation.result import ValidationResult

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
DNS_POLICIES: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
PORT_MAX: Final = 65535
CONTAINERS_MAX: Final = 100
"""Limit of containers of one kind in a template, because every one costs a check."""


class TemplatePort(ApiStruct, frozen=True, kw_only=True):
    """A port of a container."""

    name: str = ""
    container_port: int = 0
    host_port: int = 0


class TemplateMount(ApiStruct, frozen=True, kw_only=True):
    """A volume mount of a container."""

    name: str = ""
    mount_path: str = ""


class TemplateEnv(ApiStruct, frozen=True, kw_only=True):
    """An environment variable. Its value is not checked here."""

    name: str = ""


class TemplateResources(ApiStruct, frozen=True, kw_only=True):
    """Requests and limits of a container."""

    requests: ResourceList = {}
    limits: ResourceList = {}


class TemplateContainer(ApiStruct, frozen=True, kw_only=True):
    """A container, with the checked fields only."""

    name: str = ""
    image: str = ""
    resources: TemplateResources = TemplateResources()
    ports: list[TemplatePort] = []
    volume_mounts: list[TemplateMount] = []
    env: list[TemplateEnv] = []
    restart_policy: str = ""


class TemplateVolume(ApiStruct, frozen=True, kw_only=True):
    """A volume, with its name only."""

    name: str = ""


class TemplateSpec(ApiStruct, frozen=True, kw_only=True):
    """A pod spec, with the checked fields only."""

    containers: list[TemplateContainer] = []
    init_containers: list[TemplateContainer] = []
    volumes: list[TemplateVolume] = []
    restart_policy: str = ""
    dns_policy: str = ""
    scheduler_name: str = ""
    host_network: bool = False
    node_selector: dict[str, str] = {}
    termination_grace_period_seconds: int | None = None
    overhead: ResourceList = {}
    resources: TemplateResources = TemplateResources()


class TemplateMeta(ApiStruct, frozen=True, kw_only=True):
    """Labels and annotations of the pods."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Template(ApiStruct, frozen=True, kw_only=True):
    """A pod template, with the checked fields only."""

    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()


def read_template(found: ValidationResult, path: str, raw: JsonObject) -> Template | None:
    """The template, or None after adding the problem under the path of the task."""
    inner = ValidationResult()
    template = read(raw, Template, inner)
    for problem in inner.problems:
        place = path if problem.path == "object" else f"{path}.{problem.path}"
        found.refuse(place, problem.message)
    return template


def check_template(
    found: ValidationResult, path: str, template: Template, *, compat: Compat
) -> None:
    """Check what the API server would refuse, as far as it is covered here."""
    _check_labels(found, f"{path}.metadata.labels", template.metadata.labels)
    spec, spec_path = template.spec, f"{path}.spec"
    if not spec.containers:
        found.refuse(f"{spec_path}.containers", "a pod needs a container; add one with an image")
    # Volumes come first, because mounts are compared with their names.
    volumes = _check_volumes(found, f"{spec_path}.volumes", spec.volumes)
    names: set[str] = set()
    for kind, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
    ):
        # Too many containers are not checked one by one, or the answer would be as large.
        if len(containers) > CONTAINERS_MAX:
            found.refuse(f"{spec_path}.{kind}", f"more than {CONTAINERS_MAX} containers")
            continue
        for index, container in enumerate(containers):
            place = f"{spec_path}.{kind}[{index}]"
            _check_container(found, place, container, compat=compat)
            # Init containers and containers share one set of names in a pod.
            _check_unique(found, f"{place}.name", container.name, names=names)
            _check_mounts(found, f"{place}.volumeMounts", container.volume_mounts, volumes=volumes)
    _check_enumerations(found, spec_path, spec)


def _check_enumerations(found: ValidationResult, path: str, spec: TemplateSpec) -> None:
    for field, value, allowed in (
        ("restartPolicy", spec.restart_policy, RESTART_POLICIES),
        ("dnsPolicy", spec.dns_policy, DNS_POLICIES),
    ):
        if value and value not in allowed:
            found.refuse(f"{path}.{field}", f"must be one of {', '.join(allowed)}", value=value)
    grace = spec.termination_grace_period_seconds
    if grace is not None and grace < 0:
        found.refuse(f"{path}.terminationGracePeriodSeconds", "must be 0 or more", value=grace)
    _check_labels(found, f"{path}.nodeSelector", spec.node_selector)


def _check_labels(found: ValidationResult, path: str, labels: dict[str, str]) -> None:
    for key in sorted(labels):
        if not is_label_key(key):
            found.refuse(path, "is not a label key; write one like example.com/name", value=key)
        if labels[key]:
            check_qualified(found, f"{path}[{key}]", labels[key], what="a label value")


def _check_unique(found: ValidationResult, path: str, name: str, *, names: set[str]) -> None:
    if name and name in names:
        found.refuse(path, "is used twice in this pod; give each its own name", value=name)
    names.add(name)


def _check_container(
    found: ValidationResult, path: str, container: TemplateContainer, *, compat: Compat
) -> None:
    check_label(found, f"{path}.name", container.name)
    if not container.image.strip():
        found.refuse(f"{path}.image", "is required; name the image to run", value=container.image)
    for index, port in enumerate(container.ports):
        if not 1 <= port.container_port <= PORT_MAX:
            found.refuse(
                f"{path}.ports[{index}].containerPort",
                f"must be 1 to {PORT_MAX}",
                value=port.container_port,
            )
        if not 0 <= port.host_port <= PORT_MAX:
            found.refuse(
                f"{path}.ports[{index}].hostPort", f"must be 1 to {PORT_MAX}", value=port.host_port
            )
    for index, variable in enumerate(container.env):
        if not variable.name:
            found.refuse(f"{path}.env[{index}].name", "is required; name the variable")
    check_resources(
        found,
        f"{path}.resources",
        requests=container.resources.requests,
        limits=container.resources.limits,
        compat=compat,
    )


def _check_volumes(found: ValidationResult, path: str, volumes: list[TemplateVolume]) -> set[str]:
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        check_label(found, f"{path}[{index}].name", volume.name)
        _check_unique(found, f"{path}[{index}].name", volume.name, names=names)
    return names


def _check_mounts(
    found: ValidationResult, path: str, mounts: list[TemplateMount], *, volumes: set[str]
) -> None:
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        place = f"{path}[{index}]"
        if not mount.mount_path:
            found.refuse(f"{place}.mountPath", "is required; say where the volume is mounted")
        _check_unique(found, f"{place}.mountPath", mount.mount_path, names=paths)
        # Volumes of the job are added later by the job-controller, with their own mounts.
        if mount.name not in volumes:
            found.refuse(
                f"{place}.name", "names no volume of this pod; add it to volumes", value=mount.name
            )


def template_of(raw: JsonObject) -> Template:
    """The template of an object whose problems are reported
    elsewhere, or empty if it is invalid."""
    try:
        # The fast path: most templates need no removal of nulls.
        return msgspec.convert(raw, Template)
    except msgspec.ValidationError:
        return read(raw, Template, ValidationResult()) or Template()
