"""The command lines of kube-apiserver and kube-controller-manager, with the reason for each deviation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vc_parts.ports import LOOPBACK

SERVICE_ADDRESSES = "10.96.0.0/16"
API_QUERIES_PER_SECOND = 500
"""Of the controller manager: its default of 20 would be what a bench measures."""

NODE_LIFECYCLE = "node-lifecycle-controller"
CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "resourcequota-controller",
    "pod-garbage-collector-controller",
    "persistentvolume-binder-controller",  # finishes what a scheduler began when it gave a volume to a claim
    "persistentvolumeclaim-protection-controller",  # takes the finalizer off that the API server puts on
    "disruption-controller",  # without it an eviction waits for ever for a budget's status
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
)

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
"""


@dataclass(frozen=True, kw_only=True)
class Files:
    """What both servers read, all in the cluster's folder."""

    folder: Path

    @property
    def ca(self) -> Path:
        """What clients trust."""
        return self.folder / "ca.crt"

    @property
    def server_certificate(self) -> Path:
        """Of kube-apiserver."""
        return self.folder / "apiserver.crt"

    @property
    def server_key(self) -> Path:
        """Of kube-apiserver."""
        return self.folder / "apiserver.key"

    @property
    def tokens(self) -> Path:
        """One line per user."""
        return self.folder / "tokens.csv"

    @property
    def account_key(self) -> Path:
        """Signs service account tokens."""
        return self.folder / "service-accounts.key"

    @property
    def account_public_key(self) -> Path:
        """Checks service account tokens."""
        return self.folder / "service-accounts.pub"

    @property
    def audit_policy(self) -> Path:
        """What is audited: who did what, without bodies."""
        return self.folder / "audit-policy.yaml"


def apiserver_command(
    program: Path,
    files: Files,
    *,
    port: int,
    etcd_url: str,
    audit_log: Path | None,
    controllers: Sequence[str] = CONTROLLERS,
    extra: Sequence[str] = (),
) -> list[str]:
    """RBAC, tokens and TLS as on a real cluster, on loopback."""
    flags = {
        "etcd-servers": etcd_url,
        "bind-address": LOOPBACK,
        "secure-port": str(port),
        # The `kubernetes` Service cannot point at a loopback address, and nothing here uses it.
        "advertise-address": LOOPBACK,
        "endpoint-reconciler-type": "none",
        "tls-cert-file": str(files.server_certificate),
        "tls-private-key-file": str(files.server_key),
        "client-ca-file": str(files.ca),
        "token-auth-file": str(files.tokens),
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": str(files.account_public_key),
        "service-account-signing-key-file": str(files.account_key),
        "service-cluster-ip-range": SERVICE_ADDRESSES,
        "allow-privileged": "true",
        "profiling": "false",
    }
    if NODE_LIFECYCLE not in controllers:
        # This plugin taints each new node not-ready until that controller takes the taint away.
        flags["disable-admission-plugins"] = "TaintNodesByCondition"
    if audit_log:
        flags |= {"audit-policy-file": str(files.audit_policy), "audit-log-path": str(audit_log)}
    return [str(program), "kube-apiserver"] + _flags(flags) + list(extra)


def controller_manager_command(
    program: Path, files: Files, *, port: int, kubeconfig: Path, controllers: Sequence[str]
) -> list[str]:
    """One replica, so no leader election; only the controllers that a test cluster needs."""
    flags = {
        "kubeconfig": str(kubeconfig),
        "bind-address": LOOPBACK,
        "secure-port": str(port),
        "cert-dir": str(files.folder / "controller-manager"),
        "leader-elect": "false",
        "controllers": ",".join(controllers),
        "service-account-private-key-file": str(files.account_key),
        "root-ca-file": str(files.ca),
        "kube-api-qps": str(API_QUERIES_PER_SECOND),
        "kube-api-burst": str(2 * API_QUERIES_PER_SECOND),
        "profiling": "false",
    }
    return [str(program), "kube-controller-manager"] + _flags(flags)


def _flags(flags: dict[str, str]) -> list[str]:
    return [f"--{key}={value}" for key, value in flags.items()]
