"""A Kubernetes control plane: etcd, kube-apiserver, kube-controller-manager; no kubelet or
scheduler.

It is ready when the `default` service account exists, because pods are accepted from then on. Each
of the three processes is an attribute, so that a test can restart one: `await
plane.apiserver.restart()`.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from vc.kubeconfig.writer import write_kubeconfig
from vc.model.start_limits import Patience, size_of
from vc.parts.certificates import Authority, issue_signing_key, write_pair, write_private
from vc.parts.control_plane_flags import (
    AUDIT_POLICY,
    CONTROLLERS,
    Files,
    apiserver_command,
    controller_manager_command,
)
from vc.parts.fetch.getting import obtain
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import http_get, wait_while_moving
from vc.parts.process import Process
from vc.parts.progress import Progress, log_tail
from vc.parts.server import Server
from vc.parts.servers.etcd import EtcdServer
from vc.parts.users import User, admin, token_file

APISERVER_STOP_SECONDS_MAX = 3.0
"""Its graceful shutdown waits for open watches, which controllers never close.

Acknowledged writes are in etcd.
"""
SERVER_HOSTS = (LOOPBACK, "localhost", "10.96.0.1", "kubernetes.default.svc")


class ControlPlane(Server):
    """`async with ControlPlane() as plane:`, then use `plane.kubeconfig` or
    `plane.kubeconfig_for(name)`.
    """

    def __init__(
        self,
        *,
        folder: Path | None = None,
        users: Sequence[User] = (),
        controllers: Sequence[str] = CONTROLLERS,
        audit: bool = False,
        durable: bool = False,
        apiserver_flags: Sequence[str] = (),
    ) -> None:
        super().__init__("kubernetes", folder=folder)
        self.admin = admin()
        # Tokens are read once at the start of kube-apiserver, so users cannot be added later.
        self.users = {user.name: user for user in (self.admin, *users)}
        self.port = free_port()
        self.url = f"https://{LOOPBACK}:{self.port}"
        self.files = Files(folder=self.folder)
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.audit_log = self.log_of("audit") if audit else None
        """One JSON line per request, to count writes. None if auditing is off."""
        # its logs are named after the folder
        etcd_folder = self.folder / f"{self.folder.name}-etcd"
        self.etcd = EtcdServer(folder=etcd_folder, durable=durable)
        self._controllers = tuple(controllers)
        self._apiserver_flags = tuple(apiserver_flags)
        self._authority = Authority()

    @property
    def apiserver(self) -> Process:
        """kube-apiserver, for kill, pause, resume and restart."""
        return self.processes[1]

    @property
    def controller_manager(self) -> Process:
        """kube-controller-manager, for kill, pause, resume and restart."""
        return self.processes[2]

    def kubeconfig_for(self, name: str) -> Path:
        """A kubeconfig of one of the users given at creation."""
        path = self.folder / f"{name.replace(':', '_')}.kubeconfig"
        return self._write_kubeconfig(path, self.users[name])

    async def prepare(self) -> None:
        """Get the binary, and write certificates, tokens and kubeconfig."""
        # etcd is prepared but not started here; its process becomes the first of this server.
        await self.etcd.prepare()
        found = await asyncio.to_thread(obtain, "kubernetes", say=Progress())
        await asyncio.to_thread(self._write_files)
        self.processes = [
            *self.etcd.processes,
            self._apiserver_process(found.path),
            self._controller_manager_process(found.path),
        ]

    async def wait_until_usable(self) -> None:
        """Wait for the service account that the admission of pods requires."""
        log = self.controller_manager.log
        # A bound on the silence, because the controllers are slow on a busy machine.
        await wait_while_moving(
            lambda: self.has_default_account("default"),
            patience=Patience.from_env(os.environ),
            progress=lambda: size_of(log),
            otherwise=lambda over: (
                f"The default service account did not appear: {over}; "
                f"the controller manager's log ends with:\n{log_tail(log)}"
            ),
        )

    async def has_default_account(self, namespace: str) -> bool:
        """Whether pods can be created in the namespace."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        return (await self._get(path)) == 200

    def _write_files(self) -> None:
        files = self.files
        write_pair(self._authority.key_pair, self.folder, "ca")
        server = self._authority.issue_server("kube-apiserver", hosts=SERVER_HOSTS)
        write_pair(server, self.folder, "apiserver")
        private, public = issue_signing_key()
        write_private(files.account_key, private)
        files.account_public_key.write_bytes(public)
        # Tokens and keys grant access to the cluster, so only the owner may read them.
        write_private(files.tokens, token_file(list(self.users.values())).encode())
        files.audit_policy.write_text(AUDIT_POLICY)
        self._write_kubeconfig(self.kubeconfig, self.admin)

    def _write_kubeconfig(self, path: Path, user: User) -> Path:
        authority = self._authority.key_pair.certificate
        return write_kubeconfig(
            path, self.url, ca_pem=authority, user_name=user.name, token=user.token
        )

    def _apiserver_process(self, program: Path) -> Process:
        command = apiserver_command(
            program,
            self.files,
            port=self.port,
            etcd_url=self.etcd.url,
            audit_log=self.audit_log,
            controllers=self._controllers,
            extra=self._apiserver_flags,
        )
        return Process(
            "kube-apiserver",
            command,
            log=self.log_of("kube-apiserver"),
            ready=self._apiserver_ready,
            stop_seconds_max=APISERVER_STOP_SECONDS_MAX,
        )

    def _controller_manager_process(self, program: Path) -> Process:
        port = free_port()
        command = controller_manager_command(
            program,
            self.files,
            port=port,
            kubeconfig=self.kubeconfig,
            controllers=self._controllers,
        )

        async def ready() -> bool:
            # Its certificate is self-signed at start, so it cannot be verified.
            return (await http_get(f"https://{LOOPBACK}:{port}/healthz")).status == 200

        name = "kube-controller-manager"
        return Process(name, command, log=self.log_of(name), ready=ready)

    async def _apiserver_ready(self) -> bool:
        return (await self._get("/readyz")) == 200

    async def _get(self, path: str) -> int:
        answer = await http_get(self.url + path, token=self.admin.token, ca=self.files.ca)
        return answer.status
