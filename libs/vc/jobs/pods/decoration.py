"""Adding the answers of plugins to a pod template.

Decorations are applied in the order of plugin names, so the result does not depend on the
order of answers. What the user wrote wins: an existing variable, port, volume, mount or
host name is kept. Added variables precede the user's, because `$(NAME)` in a value can
only refer to earlier variables.
"""

from collections.abc import Iterable, Sequence

from vc.messages.plugins import INDEX_SYMBOL, EnvVar, TaskDecoration
from vc.model.api.struct import JsonObject
from vc.model.values.bounded import read_integer

INDEX_MARK = "\x00index+"
"""Placeholder for the index of the pod, in a template that is
prepared once for all pods of a task."""

TEXT_MARK = "\x00text:"
"""Prefix of a text that contains a symbol for the index of the pod."""


class Variables:
    """The variables of decorations as JSON, each created once and never changed.

    All pods of a job share them, however many tasks and containers it has.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[TaskDecoration, dict[str, JsonObject]]] = {}
        """By id of the decoration. The decoration is kept, so that its id is not used again."""

    def added(self, decorations: Iterable[TaskDecoration], taken: set[str]) -> list[JsonObject]:
        """The variables of the decorations in order, each name once and no name in `taken`."""
        found: list[JsonObject] = []
        for decoration in decorations:
            made = self._of(decoration)
            # The usual case has no conflict, so names need not be compared one by one.
            if taken.isdisjoint(made):
                found.extend(made.values())
            else:
                found.extend(json for name, json in made.items() if name not in taken)
            taken = taken.union(made)
        return found

    def _of(self, decoration: TaskDecoration) -> dict[str, JsonObject]:
        """The variables of a decoration by name. The first of a name wins."""
        known = self._made.get(id(decoration))
        if known is None:
            made: dict[str, JsonObject] = {}
            for variable in decoration.env:
                if variable.name not in made:
                    made[variable.name] = _variable(variable)
            known = self._made[id(decoration)] = (decoration, made)
        return known[1]


def decorate(
    spec: JsonObject, decorations: Sequence[TaskDecoration], variables: Variables | None = None
) -> None:
    """Change a pod spec in place. `variables` are shared with the other specs of the job."""
    made = variables or Variables()
    containers = spec.setdefault("containers", [])
    inits = spec.get("initContainers") or []
    for container in containers:
        # Variables of all decorations are added at once, because their
        # order decides which one wins.
        _add_env(container, decorations, made)
        for decoration in decorations:
            _add_ports(container, decoration)
            _replace_command(container, decoration)
    for container in inits:
        # Plugins choose whether init containers get their variables.
        _add_env(container, [d for d in decorations if d.env_in_init_containers], made)
        for decoration in (d for d in decorations if d.ports_in_init_containers):
            _add_ports(container, decoration)
    for decoration in decorations:
        for container in (*containers, *inits):
            _add_unless(container, "volumeMounts", decoration.mounts, by="mountPath")
        _add_unless(spec, "volumes", decoration.volumes, by="name")
    # Init containers of plugins run first: those of the user may need what they wait for.
    _put_first(spec, [c for d in decorations for c in d.init_containers])
    _set_group(spec, next((d.fs_group for d in decorations if d.fs_group is not None), None))


def subdomain_of(decorations: Sequence[TaskDecoration]) -> str:
    """The subdomain of the first decoration that has one."""
    return next((d.subdomain for d in decorations if d.subdomain), "")


def _add_env(container: JsonObject, decorations: Iterable[TaskDecoration], made: Variables) -> None:
    own = container.get("env") or []
    added = made.added(decorations, {variable.get("name") for variable in own})
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


_CONTAINERS = ("containers", "initContainers")


class IndexMarks:
    """Positions of placeholders in a prepared spec. All other parts
    are shared by the pods of a task."""

    def __init__(self, spec: JsonObject) -> None:
        self._spec = spec
        self._marked: dict[tuple[str, int], list[int]] = {}
        """By section and position of the container, the positions of
        its variables with placeholders."""
        for section in _CONTAINERS:
            for at, container in enumerate(spec.get(section) or ()):
                env = container.get("env") or ()
                marked = [position for position, variable in enumerate(env) if _is_marked(variable)]
                if marked:
                    self._marked[section, at] = marked

    def filled(self, index: int) -> JsonObject:
        """The spec of one pod with its index filled in. Its shared parts must not be changed."""
        spec = dict(self._spec)
        for (section, at), positions in self._marked.items():
            if spec[section] is self._spec[section]:
                spec[section] = list(self._spec[section])
            container = spec[section][at]
            env = list(container["env"])
            for position in positions:
                variable = env[position]
                env[position] = {**variable, "value": _filled(variable["value"], index)}
            spec[section][at] = {**container, "env": env}
        return spec


def _is_marked(variable: JsonObject) -> bool:
    value = variable.get("value")
    return isinstance(value, str) and value.startswith((INDEX_MARK, TEXT_MARK))


def _filled(value: str, index: int) -> str:
    if value.startswith(INDEX_MARK):
        return str(index + (read_integer(value.removeprefix(INDEX_MARK)) or 0))
    return value.removeprefix(TEXT_MARK).replace(INDEX_SYMBOL, str(index))


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
        # Arguments belong to the replaced command.
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
    """Set the group of files in volumes, unless the user chose one."""
    security = spec.get("securityContext") or {}
    if group is not None and security.get("fsGroup") is None:
        spec["securityContext"] = {**security, "fsGroup": group}
