"""Putting the plugins' answers into a pod template.

Decorations come in the order of plugin names, so the result does not depend on who answered first.
What the user wrote wins: a variable, port, volume, mount or host name that is there already stays.
Added variables go before the user's, because `$(NAME)` in a value can only refer to earlier ones.
"""

from collections.abc import Sequence

from vc_messages.plugins import INDEX_SYMBOL, EnvVar, TaskDecoration
from vc_model.bounded import read_integer
from vc_model.struct import JsonObject

INDEX_MARK = "\x00index+"
"""Stands for the pod's index in a template that is made once for all pods of a task."""

TEXT_MARK = "\x00text:"
"""Begins a text in which the pod's index is still a symbol."""


def decorate(spec: JsonObject, decorations: Sequence[TaskDecoration]) -> None:
    """Change a pod spec in place."""
    containers = spec.setdefault("containers", [])
    inits = spec.get("initContainers") or []
    for container in containers:
        _add_env(container, [v for d in decorations for v in d.env])
        for decoration in decorations:
            _add_ports(container, decoration)
            _replace_command(container, decoration)
    for container in inits:
        _add_env(container, [v for d in decorations if d.env_in_init_containers for v in d.env])
        for decoration in (d for d in decorations if d.ports_in_init_containers):
            _add_ports(container, decoration)
    for decoration in decorations:
        for container in (*containers, *inits):
            _add_unless(container, "volumeMounts", decoration.mounts, by="mountPath")
        _add_unless(spec, "volumes", decoration.volumes, by="name")
    _put_first(spec, [c for d in decorations for c in d.init_containers])
    _set_group(spec, next((d.fs_group for d in decorations if d.fs_group is not None), None))


def subdomain_of(decorations: Sequence[TaskDecoration]) -> str:
    """The first that says one."""
    return next((d.subdomain for d in decorations if d.subdomain), "")


def _add_env(container: JsonObject, variables: list[EnvVar]) -> None:
    own = container.get("env") or []
    taken = {variable.get("name") for variable in own}
    added: list[JsonObject] = []
    for variable in variables:
        if variable.name not in taken:
            taken.add(variable.name)
            added.append(_variable(variable))
    if added:
        container["env"] = [*added, *own]


def _variable(variable: EnvVar) -> JsonObject:
    if variable.value_from is not None:
        return {"name": variable.name, "valueFrom": variable.value_from}
    if variable.index_plus is not None:
        return {"name": variable.name, "value": f"{INDEX_MARK}{variable.index_plus}"}
    if variable.text_with_index:
        return {"name": variable.name, "value": f"{TEXT_MARK}{variable.text_with_index}"}
    return {"name": variable.name, "value": variable.value}


def fill_index(spec: JsonObject, index: int) -> None:
    """Turn marks into the numbers of one pod."""
    for container in (*spec.get("containers", ()), *(spec.get("initContainers") or ())):
        for variable in container.get("env") or ():
            value = variable.get("value")
            if not isinstance(value, str):
                continue
            if value.startswith(INDEX_MARK):
                variable["value"] = str(index + (read_integer(value.removeprefix(INDEX_MARK)) or 0))
            elif value.startswith(TEXT_MARK):
                text = value.removeprefix(TEXT_MARK)
                variable["value"] = text.replace(INDEX_SYMBOL, str(index))


def _add_ports(container: JsonObject, decoration: TaskDecoration) -> None:
    if decoration.ports_only_in not in ("", container.get("name")):
        return
    own = container.get("ports") or []
    names = {port.get("name") for port in own}
    numbers = {(port.get("containerPort"), port.get("protocol", "TCP")) for port in own}
    added = [
        port
        for port in decoration.ports
        if port.get("name") not in names
        and (port.get("containerPort"), port.get("protocol", "TCP")) not in numbers
    ]
    if added:
        container["ports"] = [*own, *added]


def _replace_command(container: JsonObject, decoration: TaskDecoration) -> None:
    command = decoration.commands.get(container.get("name", ""))
    if command is not None:
        container["command"] = list(command)
        container.pop("args", None)


def _add_unless(holder: JsonObject, field: str, added: list[JsonObject], *, by: str) -> None:
    own = holder.get(field) or []
    taken = {element.get(by) for element in own}
    new = [element for element in added if element.get(by) not in taken]
    if new:
        holder[field] = [*own, *new]


def _put_first(spec: JsonObject, added: list[JsonObject]) -> None:
    own = spec.get("initContainers") or []
    taken = {container.get("name") for container in own}
    new = [container for container in added if container.get("name") not in taken]
    if new:
        spec["initContainers"] = [*new, *own]


def _set_group(spec: JsonObject, group: int | None) -> None:
    """The group of files in volumes, unless the user chose one."""
    security = spec.get("securityContext") or {}
    if group is not None and security.get("fsGroup") is None:
        spec["securityContext"] = {**security, "fsGroup": group}
