"""Where admission of a stack listens, how the API server reaches it, and what must go afterwards.

The API servers that a stack starts itself run on this machine and end with it: they are given the
address of the process. A cluster that was `given` is another matter. It cannot reach loopback, and it
outlives the stack: webhooks are registered there only with an address that the user says it reaches
(ADMISSION_URL), and are deleted when the stack goes down. Admission does that itself; what a killed
one left behind is deleted here.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from vc_admission.config import UNREACHABLE
from vc_admission.config import Config as AdmissionConfig
from vc_admission.logic.webhook_configurations import BY_ADDRESS, CONFIGURATIONS, is_by_address
from vc_cli.stack_clusters import GIVEN
from vc_cluster import ClusterError, NotFoundError, Preconditions
from vc_cluster.errors import ConflictError
from vc_model.faults import describe
from vc_parts.ports import LOOPBACK

WITHDRAW_SECONDS_MAX: Final = 10.0
ONLY_GIVEN: Final = ("ADMISSION_URL", "ADMISSION_FAILURE_POLICY")
_HTTPS_PORT: Final = 443


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where admission listens, and what the API server is told."""

    host: str = LOOPBACK
    port: int
    url: str = ""
    """Empty: the API server is told where it listens."""

    @property
    def registered_url(self) -> str:
        """What must not stay on the cluster when the stack is gone; empty for nothing."""
        return "" if self.url == UNREACHABLE else self.url


def place_of(cluster: str, env: Mapping[str, str], *, free_port: Callable[[], int]) -> Place:
    """ValueError names the variable, the value and what to write."""
    if cluster != GIVEN:
        for name in ONLY_GIVEN:
            if env.get(name):
                raise ValueError(
                    f"{name}={env[name]!r} is for CLUSTER={GIVEN}; the API server that a stack "
                    f"starts itself reaches admission, so unset it"
                )
        return Place(port=free_port())
    told = {"ADMISSION_CREATE_CONFIGURATIONS": "true", "ADMISSION_URL": UNREACHABLE}
    config = AdmissionConfig.from_env({**told, **{k: v for k, v in env.items() if v}})
    if config.url == UNREACHABLE:
        return Place(port=free_port(), url=UNREACHABLE)
    host = env.get("ADMISSION_HOST") or LOOPBACK
    port = config.port if env.get("ADMISSION_PORT") else urlsplit(config.url).port or _HTTPS_PORT
    return Place(host=host, port=port or free_port(), url=config.url)


def said_of(place: Place) -> str:
    """A line for the person who starts a stack on a cluster of theirs; empty when there is no news."""
    if place.url == UNREACHABLE:
        return (
            "no webhooks are registered on your cluster: jobs get no defaults and are not validated; "
            "ADMISSION_URL=https://HOST:PORT names an address of this machine that it reaches"
        )
    return (
        f"webhooks on your cluster lead to {place.url}; they go with the stack" if place.url else ""
    )


async def withdraw(kubeconfig: Path, url: str) -> str:
    """Delete the webhook configurations that lead to this address; what is left and why, or empty."""
    try:
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
    from vc_cluster.kubernetes import connect

    name = AdmissionConfig().configuration_name
    cluster = await connect(service="stack", kubeconfig=str(kubeconfig))
    try:
        for kind in CONFIGURATIONS:
            try:
                found = await cluster.get(kind, name=name)
                if is_by_address(found, url=url):
                    uid = Preconditions(uid=found["metadata"]["uid"])
                    await cluster.delete(kind, name=name, preconditions=uid)
            except (NotFoundError, ConflictError):
                continue
    finally:
        await cluster.close()
