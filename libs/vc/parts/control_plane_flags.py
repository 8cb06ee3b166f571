"""The command lines of kube-apiserver and kube-controller-manager, with reasons for deviations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vc.parts.ports import LOOPBACK

SERVICE_ADDRESSES = "10.96.0.0/16"
API_QUERIES_PER_SECOND = 500
"""The limit of the controller manager. With its default of 20, a bench would measure this limit."""

NODE_LIFECYCLE = "node-lifecycle-controller"
CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "resourcequota-controller",
    "pod-garbage-collector-controller",
    # completes the binding of a volume that a scheduler has started
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",  # removes the finalizer that the API server adds
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
    """The files that both servers read, all in the cluster's folder."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The certificate authority that clients trust."""
        return self.folder / "ca.crt"

    @property
    def server_certificate(self) -> Path:
        """The certificate of kube-apiserver."""
        return self.folder / "apiserver.crt"

    @property
    def server_key(self) -> Path:
        """The key of kube-apiserver."""
        return self.folder / "apiserver.key"

    @property
    def tokens(self) -> Path:
        """The static tokens, one line per user."""
        return self.folder / "tokens.csv"

    @property
    def account_key(self) -> Path:
        """The key that signs service account tokens."""
        return self.folder / "service-accounts.key"

    @property
    def account_public_key(self) -> Path:
        """The key that verifies service account tokens."""
        return self.folder / "service-accounts.pub"

    @property
    def audit_policy(self) -> Path:
        """The audit policy: requests with their users, without bodies."""
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
    """The command of kube-apiserver, with RBAC, tokens and TLS as on a real cluster, on
    loopback.
    """
    flags = {
        "etcd-servers": etcd_url,
        "bind-address": LOOPBACK,
        "secure-port": str(port),
        # The `kubernetes` Service cannot have a loopback address, and nothing here uses it.
        "advertise-address": LOOPBACK,
        "endpoint-reconciler-type": "none",
        "tls-cert-file": str(files.server_certificate),
        "tls-private-key-file": str(files.server_key),
        "client-ca-file": str(files.ca),
        "token-auth-file": str(files.tokens),
        # RBAC is enforced, so that tests find permissions that the chart does not grant.
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": str(files.account_public_key),
        "service-account-signing-key-file": str(files.account_key),
        "service-cluster-ip-range": SERVICE_ADDRESSES,
        "allow-privileged": "true",
        "profiling": "false",
    }
    if NODE_LIFECYCLE not in controllers:
        # This plugin taints each new node not-ready until that controller removes the taint.
        flags["disable-admission-plugins"] = "TaintNodesByCondition"
    if audit_log:
        flags |= {"audit-policy-file": str(files.audit_policy), "audit-log-path": str(audit_log)}
    return [str(program), "kube-apiserver"] + _flags(flags) + list(extra)


def controller_manager_command(
    program: Path, files: Files, *, port: int, kubeconfig: Path, controllers: Sequence[str]
) -> list[str]:
    """The command of one replica, without leader election and with only the controllers that tests
    need.
    """
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
