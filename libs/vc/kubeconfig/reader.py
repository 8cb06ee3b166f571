"""Read kubeconfig files and select one context of them.

Several files are merged as kubectl does it: the first file that defines an entry or the current
context decides. Paths in an entry are relative to the file that defines it, so they are made
absolute here. Every error names the file, the field and what to change.
"""

import os
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

JsonObject: TypeAlias = dict[str, Any]

KUBECONFIG_BYTES_MAX: Final = 4 * 1024 * 1024
"""Bound on every file that is read here. A larger file is not a kubeconfig, token or certificate.
"""
_PATHS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_SECTIONS: Final = ("contexts", "clusters", "users")


class KubeconfigError(Exception):
    """A kubeconfig cannot be used. The message names the file, the field and what to change."""


class SelectedContext(NamedTuple):
    """One context of a kubeconfig with its cluster and its user. All paths are absolute."""

    name: str
    cluster_name: str
    user_name: str
    cluster: JsonObject
    user: JsonObject
    """Empty if the context names no user: the server has no authentication."""
    namespace: str
    source: str
    """The files, for messages."""

    def document(self) -> JsonObject:
        """A kubeconfig with this context only, for other readers and for derived files."""
        context: JsonObject = {"cluster": self.cluster_name, "user": self.user_name}
        if self.namespace:
            context["namespace"] = self.namespace
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.cluster_name, "cluster": self.cluster}],
            "users": [{"name": self.user_name, "user": self.user}],
            "contexts": [{"name": self.name, "context": context}],
            "current-context": self.name,
        }


class _File(NamedTuple):
    """One parsed file. Its folder is the base of the relative paths in it."""

    path: Path
    config: JsonObject


def kubeconfig_files(paths: str) -> list[Path]:
    """The files of a value of KUBECONFIG. Missing files of a list are skipped, as kubectl does."""
    named = [Path(part).expanduser() for part in paths.split(os.pathsep) if part]
    # If none exists, the first is kept, so that the error message names it.
    return [path for path in named if path.exists()] or named[:1]


def read_context(files: list[Path], *, context: str = "") -> SelectedContext:
    """Select a context of the files, by default the current one."""
    configs = [_File(path, _load(path)) for path in files]
    source = ", ".join(str(path) for path in files)
    name = context or _current_context(configs)
    if not name:
        raise KubeconfigError(
            f"{source}: current-context: not set; choose one with `kubectl config use-context NAME`"
        )
    wanted_by = "the requested context" if context else "current-context"
    chosen, _ = _entry(configs, "contexts", name, wanted_by=wanted_by, source=source)
    field = f"contexts[{name}].context"
    cluster_name = _text_field(chosen, "cluster", field=field, source=source)
    cluster, cluster_file = _entry(
        configs, "clusters", cluster_name, wanted_by=f"{field}.cluster", source=source
    )
    user_name = _text_field(chosen, "user", field=field, source=source)
    user: JsonObject = {}
    # A context may have no user, for example for a server without authentication.
    if user_name:
        user, user_file = _entry(
            configs, "users", user_name, wanted_by=f"{field}.user", source=source
        )
        user = _with_absolute_command(_with_absolute_paths(user, user_file), user_file)
    if not _text_field(cluster, "server", field=f"clusters[{cluster_name}].cluster", source=source):
        raise KubeconfigError(
            f"{source}: clusters[{cluster_name}].cluster.server: not set; "
            "write the URL of the API server, such as https://host:6443"
        )
    return SelectedContext(
        name=name,
        cluster_name=cluster_name,
        user_name=user_name,
        cluster=_with_absolute_paths(cluster, cluster_file),
        user=user,
        namespace=_text_field(chosen, "namespace", field=field, source=source),
        source=source,
    )


def read_text(path: Path, *, field: str) -> str:
    """The text of a file that `field` names. Bounded, because the path comes from a user."""
    try:
        # Before reading, because the size of a file that a user names by mistake is unknown.
        if path.stat().st_size > KUBECONFIG_BYTES_MAX:
            raise KubeconfigError(
                f"{path}: larger than {KUBECONFIG_BYTES_MAX} bytes; name another file in {field}"
            )
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise KubeconfigError(
            f"{path}: {error.strerror}; name a readable file in {field}"
        ) from None
    except UnicodeDecodeError:
        raise KubeconfigError(f"{path}: not UTF-8 text; name another file in {field}") from None


def _load(path: Path) -> JsonObject:
    # The import takes longer than the rest of `vcctl version`, which reads no file.
    import yaml

    text = read_text(path, field="KUBECONFIG or the flag for it")
    # The C loader is faster, where it is available.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        config = yaml.load(text, Loader=loader)  # noqa: S506 - both are safe loaders
    except yaml.YAMLError as error:
        shown = " ".join(str(error).split())
        raise KubeconfigError(f"{path}: not YAML: {shown}; correct the file there") from None
    # kubectl treats an empty file as a kubeconfig without entries.
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise KubeconfigError(
            f"{path}: not a kubeconfig, which has clusters, users and contexts; name another file"
        )
    for section in _SECTIONS:
        if not isinstance(config.get(section) or [], list):
            raise KubeconfigError(
                f"{path}: {section}: not a list; write entries with `name` and "
                f"`{section.removesuffix('s')}`"
            )
    return config


def _current_context(configs: list[_File]) -> str:
    # As in kubectl, the first file that sets the current context decides.
    named = (str(file.config.get("current-context") or "") for file in configs)
    return next((name for name in named if name), "")


def _entry(
    configs: list[_File], section: str, name: str, *, wanted_by: str, source: str
) -> tuple[JsonObject, Path]:
    """The entry of that name, and the file that defines it."""
    singular = section.removesuffix("s")
    others: list[str] = []
    for path, config in configs:
        for entry in config.get(section) or []:
            if not isinstance(entry, dict):
                continue
            if entry.get("name") == name:
                value = entry.get(singular)
                if not isinstance(value or {}, dict):
                    raise KubeconfigError(
                        f"{path}: {section}[{name}].{singular}: not an object; write its fields"
                    )
                # As in kubectl, the first definition counts whole; later files add nothing.
                return dict(value or {}), path
            others.append(str(entry.get("name", "")))
    choice = f"use one of {', '.join(others)}" if others else f"there is no {singular} at all"
    raise KubeconfigError(f"{source}: {wanted_by}: there is no {singular} {name!r}; {choice}")


def _text_field(entry: JsonObject, name: str, *, field: str, source: str) -> str:
    value = entry.get(name)
    if value is None or isinstance(value, str):
        return value or ""
    # YAML reads an unquoted number or `yes` as another type.
    raise KubeconfigError(f"{source}: {field}.{name}: not a string; put it in quotes")


def _with_absolute_paths(entry: JsonObject, file: Path) -> JsonObject:
    folder = file.absolute().parent
    paths = {name: str(folder / str(entry[name])) for name in _PATHS if entry.get(name)}
    return {**entry, **paths}


def _with_absolute_command(user: JsonObject, file: Path) -> JsonObject:
    """As in client-go: a command with a separator is relative to the file, another one to PATH."""
    plugin = user.get("exec")
    if not isinstance(plugin, dict) or os.sep not in str(plugin.get("command", "")):
        return user
    command = str(file.absolute().parent / str(plugin["command"]))
    return {**user, "exec": {**plugin, "command": command}}
