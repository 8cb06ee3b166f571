"""The Secret and its mount. Keys are parameters; this module creates none.

An existing Secret of the job keeps its keys: only the list of hosts in it is updated. Keys are
created when there is none, so they survive a restart of the job and of this service.
"""

import base64
from typing import Final

import msgspec

from vc.jobplugin.answers import Decorated, Found, ObjectReference
from vc.jobplugin.ownership import create_owned, delete_owned, is_of
from vc.jobs.hosts import hostnames, pod_spec, subdomain
from vc.jobs.plugins.flags import Parsed, parse
from vc.messages.effects import Effect, PatchObject, RecordEvent
from vc.messages.job_plugins import SSH, Flag
from vc.messages.plugins import JobDecoration, PluginRequest, TaskDecoration
from vc.messages.redaction import is_redacted
from vc.model.api.job import Job, TaskSpec
from vc.model.api.kinds import JOBS, SECRETS
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat

ED25519: Final = "ed25519"
RSA: Final = "rsa"
ROOT_PATH: Final = "/root/.ssh"
KEY_TYPE: Final = "ssh-key-type"

PRIVATE_FILE: Final = {ED25519: "id_ed25519", RSA: "id_rsa"}
"""File name that ssh searches by default, by key type."""

OWNER_ONLY: Final = 0o600
GROUP_READS: Final = 0o440
GROUP_DEFAULT: Final = 1000
"""Any number works: the kubelet assigns the files to this group and adds
all processes of the pod to it."""


def flags_of(compat: Compat) -> tuple[Flag, ...]:
    """The flags. In `upstream` mode keys are RSA by default."""
    if compat is Compat.LENIENT:
        return SSH.flags
    return tuple(
        msgspec.structs.replace(flag, default=RSA) if flag.name == KEY_TYPE else flag
        for flag in SSH.flags
    )


class SshKeyPair(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of the key files. They are never shown."""

    private: str
    public: str

    def __repr__(self) -> str:
        return "SshKeyPair(…)"


def looks_at(request: PluginRequest, *, compat: Compat) -> list[ObjectReference]:
    """The Secret of the job or the one that the user names, and the
    job itself if a key was redacted."""
    job = request.job
    namespace = job.metadata.namespace
    wanted = [ObjectReference(SECRETS, namespace, secret_name(job))]
    # Redacted arguments still show which Secret is named.
    named = parse(request.arguments, flags_of(compat), compat=compat)
    if not named.problem and named.text("ssh-secret"):
        wanted = [ObjectReference(SECRETS, namespace, named.text("ssh-secret"))]
    if is_redacted(request.arguments):
        wanted.append(ObjectReference(JOBS, namespace, job.metadata.name))
    return wanted


def arguments_of(request: PluginRequest, found: Found) -> list[str]:
    """The arguments as the user wrote them."""
    if not is_redacted(request.arguments):
        return request.arguments
    job = request.job
    live = found.get(ObjectReference(JOBS, job.metadata.namespace, job.metadata.name), {})
    # Another job of this name must not provide the keys.
    if live.get("metadata", {}).get("uid") != job.metadata.uid:
        return request.arguments
    return [str(argument) for argument in live["spec"].get("plugins", {}).get(SSH.name, [])]


def wants_key(request: PluginRequest, found: Found, *, compat: Compat) -> str:
    """The type of the key that has to be created, or empty."""
    parsed = parse(arguments_of(request, found), flags_of(compat), compat=compat)
    # A named Secret or own keys need no new pair.
    if parsed.problem or _wrong(parsed) or parsed.text("ssh-secret") or _given(parsed):
        return ""
    if is_of(request.job, found.get(_secret(request.job))):
        return ""
    return parsed.text(KEY_TYPE)


def decorate(
    request: PluginRequest, found: Found, fresh: SshKeyPair | None, *, compat: Compat
) -> Decorated:
    """First the Secret, then its mount. `fresh` is the pair that `wants_key` requested."""
    arguments = arguments_of(request, found)
    parsed = parse(arguments, flags_of(compat), compat=compat)
    problem = parsed.problem or _wrong(parsed)
    if problem:
        return Decorated(problem=problem)
    job = request.job
    named = parsed.text("ssh-secret")
    if named:
        existing = found.get(ObjectReference(SECRETS, job.metadata.namespace, named))
        if existing is None:
            return Decorated(problem=f"argument --ssh-secret={named}: there is no such Secret")
        files = sorted(existing.get("data") or {})
        return Decorated(decoration=_decoration(job, parsed, named, files), warnings=parsed.ignored)
    # An existing Secret decides the file name, because pods refer to it.
    private = _private_file(job, parsed, found.get(_secret(job)))
    effects: list[Effect] = _keep_secret(
        job, parsed, found.get(_secret(job)), fresh, private=private
    )
    # The key is part of the job, which more users may read than Secrets.
    if "ssh-private-key" in parsed.given:
        effects.append(_warning(job))
    decoration = _decoration(job, parsed, secret_name(job), _files(private))
    return Decorated(decoration=decoration, effects=tuple(effects), warnings=parsed.ignored)


def remove(request: PluginRequest, found: Found) -> Decorated:
    """Delete only the Secret that this job (by uid) controls."""
    reference = _secret(request.job)
    ours = {reference: found[reference]} if reference in found else {}
    return Decorated(effects=delete_owned(request.job, ours))


def secret_name(job: Job) -> str:
    """Name of the Secret, as in upstream."""
    return f"{job.metadata.name}-ssh"


def ssh_config(job: Job, parsed: Parsed, *, private: str) -> str:
    """The ssh config: every pod by its short name, with the port of its sshd."""
    path, port = parsed.text("ssh-key-file-path"), parsed.text("ssh-port")
    lines = [
        # New pods reuse the host names of old ones, and their host keys may differ.
        "StrictHostKeyChecking no",
        "UserKnownHostsFile /dev/null",
        f"IdentityFile {path.rstrip('/')}/{private}",
    ]
    for task in job.spec.tasks:
        domain = subdomain(job, task)
        for name in hostnames(job, task):
            lines += [f"Host {name}", f"  HostName {name}.{domain}", f"  Port {port}"]
    return "\n".join(lines) + "\n"


def _wrong(parsed: Parsed) -> str:
    key_type = parsed.text(KEY_TYPE)
    if key_type not in PRIVATE_FILE:
        return f"argument --ssh-key-type={key_type[:20]}: write {ED25519} or {RSA}"
    # Half a pair would be mounted, and every login would fail.
    if bool(parsed.text("ssh-private-key")) != bool(parsed.text("ssh-public-key")):
        return "arguments --ssh-private-key and --ssh-public-key belong together: give both"
    return ""


def _given(parsed: Parsed) -> SshKeyPair | None:
    private, public = parsed.text("ssh-private-key"), parsed.text("ssh-public-key")
    return SshKeyPair(private=private, public=public) if private and public else None


def _private_file(job: Job, parsed: Parsed, existing: JsonObject | None) -> str:
    """Name of the private key file.

    It is the one in the job's Secret, so that keys from another setting are kept.
    Otherwise it follows from the key type. For a key of the user it is Volcano's name,
    because its type is not known.
    """
    if existing is not None and is_of(job, existing):
        there = existing.get("data") or {}
        kept = [file for file in PRIVATE_FILE.values() if file in there]
        if kept:
            return kept[0]
    if _given(parsed) is not None:
        return PRIVATE_FILE[RSA]
    return PRIVATE_FILE[parsed.text(KEY_TYPE)]


def _files(private: str) -> list[str]:
    return sorted([private, f"{private}.pub", "authorized_keys", "config"])


def _secret(job: Job) -> ObjectReference:
    return ObjectReference(SECRETS, job.metadata.namespace, secret_name(job))


def _keep_secret(
    job: Job,
    parsed: Parsed,
    existing: JsonObject | None,
    fresh: SshKeyPair | None,
    *,
    private: str,
) -> list[Effect]:
    config = _encoded(ssh_config(job, parsed, private=private))
    if existing is not None and is_of(job, existing):
        # An unchanged list of hosts needs no write.
        if (existing.get("data") or {}).get("config") == config:
            return []
        return [
            PatchObject(
                kind=SECRETS,
                namespace=job.metadata.namespace,
                name=secret_name(job),
                # Only the list of hosts is patched, so the keys stay as they are.
                patch={"data": {"config": config}},
                uid=existing["metadata"]["uid"],
            )
        ]
    # A key of the user wins over a generated one.
    pair = _given(parsed) or fresh
    assert pair is not None, "wants_key said that a pair is needed"
    data = {
        private: _encoded(pair.private),
        f"{private}.pub": _encoded(pair.public),
        "authorized_keys": _encoded(pair.public),
        "config": config,
    }
    content = {"data": data, "type": "Opaque"}
    return [create_owned(job, SECRETS, secret_name(job), content=content)]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoration(job: Job, parsed: Parsed, secret: str, files: list[str]) -> JobDecoration:
    tasks = {
        task.name: TaskDecoration(
            # Files under /root are for root alone and need no group.
            fs_group=None if _is_roots(parsed) else _group(task),
            volumes=[
                {
                    "name": secret_name(job),
                    "secret": {
                        "secretName": secret,
                        "defaultMode": OWNER_ONLY if _is_roots(parsed) else GROUP_READS,
                        "items": [{"key": file, "path": f".ssh/{file}"} for file in files],
                    },
                }
            ],
            mounts=[
                {
                    "name": secret_name(job),
                    "mountPath": parsed.text("ssh-key-file-path"),
                    "subPath": ".ssh",
                }
            ],
        )
        for task in job.spec.tasks
    }
    return JobDecoration(tasks=tasks)


def _is_roots(parsed: Parsed) -> bool:
    return parsed.text("ssh-key-file-path").rstrip("/") == ROOT_PATH


def _group(task: TaskSpec) -> int:
    """The group for the key files.

    Files of a Secret belong to root, so another user reads them through the group of the
    pod. ssh accepts a key that its group may read if the file does not belong to the
    reader; other users have no access.
    """
    security = pod_spec(task).get("securityContext") or {}
    given = [security.get(name) for name in ("fsGroup", "runAsGroup")]
    return next((group for group in given if isinstance(group, int)), GROUP_DEFAULT)


def _warning(job: Job) -> RecordEvent:
    return RecordEvent(
        kind=JOBS,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        uid=job.metadata.uid,
        type="Warning",
        reason="KeyInArguments",
        message="everyone who may read the job may read --ssh-private-key; use --ssh-secret",
    )
