"""The address of a stack's admission service, and the removal of its webhooks.

API servers that the stack starts run on this machine and end with the stack; they get the address
of the process. A `given` cluster cannot reach loopback and outlives the stack. Webhooks are
registered there only with an address that the user says is reachable (ADMISSION_URL), and are
deleted when the stack stops. Normally admission deletes them itself; those of a killed admission
are deleted here.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from vc.admission.config import UNREACHABLE
from vc.admission.config import Config as AdmissionConfig
from vc.admission.logic.webhook.webhook_configurations import (
    BY_ADDRESS,
    CONFIGURATIONS,
    is_by_address,
)
from vc.cli.pyroclast.stack.clusters import GIVEN
from vc.cluster import ClusterError, NotFoundError, Preconditions
from vc.cluster.errors import ConflictError
from vc.model.faults import describe
from vc.parts.ports import LOOPBACK

WITHDRAW_SECONDS_MAX: Final = 10.0
ONLY_GIVEN: Final = ("ADMISSION_URL", "ADMISSION_FAILURE_POLICY")
_HTTPS_PORT: Final = 443


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where admission listens, and the address that the API server uses."""

    host: str = LOOPBACK
    port: int
    url: str = ""
    """Empty if the API server uses the listening address."""

    @property
    def registered_url(self) -> str:
        """The address of webhooks that must be removed when the stack stops.

        Empty if there are none.
        """
        return "" if self.url == UNREACHABLE else self.url


def place_of(cluster: str, env: Mapping[str, str], *, free_port: Callable[[], int]) -> Place:
    """The address by cluster and environment. ValueError names the variable and the fix."""
    if cluster != GIVEN:
        for name in ONLY_GIVEN:
            if env.get(name):
                raise ValueError(
                    f"{name}={env[name]!r} is for CLUSTER={GIVEN}; the API server that a stack "
                    f"starts itself reaches admission, so unset it"
                )
        return Place(port=free_port())
    # The same parser as in admission, so that the stack rejects what admission would reject.
    settings = {"ADMISSION_CREATE_CONFIGURATIONS": "true", "ADMISSION_URL": UNREACHABLE}
    config = AdmissionConfig.from_env({**settings, **{k: v for k, v in env.items() if v}})
    if config.url == UNREACHABLE:
        return Place(port=free_port(), url=UNREACHABLE)
    host = env.get("ADMISSION_HOST") or LOOPBACK
    # Without an explicit port admission listens on the one that the URL names.
    port = config.port if env.get("ADMISSION_PORT") else urlsplit(config.url).port or _HTTPS_PORT
    return Place(host=host, port=port or free_port(), url=config.url)


def said_of(place: Place) -> str:
    """A line for the user who starts a stack on a given cluster.

    Empty if there is nothing to say.
    """
    if place.url == UNREACHABLE:
        return (
            "no webhooks are registered on your cluster: jobs get no defaults and are not validated; "
            "ADMISSION_URL=https://HOST:PORT names an address of this machine that it reaches"
        )
    return (
        f"webhooks on your cluster lead to {place.url}; they go with the stack" if place.url else ""
    )


async def withdraw(kubeconfig: Path, url: str) -> str:
    """Delete the webhook configurations with this address. Return what is left and why, or ""."""
    try:
        # The cluster may already be unreachable, and stopping must not hang.
        async with asyncio.timeout(WITHDRAW_SECONDS_MAX):
            await _withdraw(kubeconfig, url)
    except (ClusterError, OSError, ValueError) as error:
        label = ",".join(f"{key}={value}" for key, value in BY_ADDRESS.items())
        return (
            f"webhooks that lead to {url} may still be on the cluster ({describe(error)}); "
            f"`kubectl --kubeconfig {kubeconfig} delete mutatingwebhookconfigurations,"
            f"validatingwebhookconfigurations -l {label}` deletes them"
        )
    return ""


async def _withdraw(kubeconfig: Path, url: str) -> None:
    from vc.cluster.kubernetes import connect

    name = AdmissionConfig().configuration_name
    cluster = await connect(service="stack", kubeconfig=str(kubeconfig))
    try:
        for kind in CONFIGURATIONS:
            try:
                found = await cluster.get(kind, name=name)
                # Webhooks of another installation on the same cluster must not be deleted.
                if is_by_address(found, url=url):
                    # By uid: another installation may have created a configuration of the same name
                    # meanwhile.
                    uid = Preconditions(uid=found["metadata"]["uid"])
                    await cluster.delete(kind, name=name, preconditions=uid)
            except (NotFoundError, ConflictError):
                # Deleted or replaced meanwhile: in both cases no webhook of this stack is left.
                continue
    finally:
        await cluster.close()
