"""What the environment may say to admission."""

import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from vc_admission.logic.world import QUEUE_DEPTH_MAX, Compat, Settings
from vc_model.scheduler_names import scheduler_names

PORT_MAX: Final = 65535
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})
UNREACHABLE: Final = "none"
"""ADMISSION_URL of a process that the API server cannot call: nothing is registered."""
FAILURE_POLICIES: Final = ("Fail", "Ignore")
_ONLY_WITH_CREATE: Final = ("ADMISSION_URL", "ADMISSION_FAILURE_POLICY")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Where it listens, whose certificates it uses, what the administrator chose."""

    host: str = "127.0.0.1"
    port: int = 8443
    """0 picks a free one."""
    service_name: str = "volcano-admission-service"
    """The Service that leads here; its names are in the certificate."""
    secret_name: str = "volcano-admission-certs"  # noqa: S105 - the name of an object
    configuration_name: str = "volcano-admission"
    """Of both webhook configurations."""
    create_configurations: bool = False
    """No chart makes the webhook configurations: create them, with an address instead of a Service."""
    url: str = ""
    """The address to create them with. Empty: this process's own, on a cluster that ends together
    with us. UNREACHABLE: create none, and delete those that an earlier process left there."""
    failure_policy: str = ""
    """Of the webhooks we create, pods apart. Empty: Fail with our own address, Ignore with `url`."""
    certificate_file: str = ""
    """With key_file: use these instead of making certificates."""
    key_file: str = ""
    ca_file: str = ""
    """Whom the API server shall trust; the certificate file when empty."""
    configmap_name: str = "volcano-admission-configmap"
    """Holds the resource groups of pods."""
    settings: Settings = field(default_factory=Settings)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Config":
        """ValueError names the variable, the value and what to write."""
        certificate, key = (
            env.get("ADMISSION_TLS_CERT_FILE", ""),
            env.get("ADMISSION_TLS_KEY_FILE", ""),
        )
        if bool(certificate) != bool(key):
            raise ValueError(
                "ADMISSION_TLS_CERT_FILE and ADMISSION_TLS_KEY_FILE go together; set both"
            )
        create = _switch(env, "ADMISSION_CREATE_CONFIGURATIONS")
        for name in _ONLY_WITH_CREATE:
            if env.get(name) and not create:
                raise ValueError(
                    f"{name}={env[name]!r} has no effect on webhook configurations that we do not "
                    "create; unset it, or set ADMISSION_CREATE_CONFIGURATIONS=true"
                )
        return cls(
            host=env.get("ADMISSION_HOST", cls.host),
            port=_number(env, "ADMISSION_PORT", cls.port, low=0, high=PORT_MAX),
            service_name=env.get("ADMISSION_SERVICE", cls.service_name),
            secret_name=env.get("ADMISSION_SECRET", cls.secret_name),
            configuration_name=env.get("ADMISSION_CONFIGURATION", cls.configuration_name),
            create_configurations=create,
            url=_url(env),
            failure_policy=_failure_policy(env),
            certificate_file=certificate,
            key_file=key,
            ca_file=env.get("ADMISSION_CA_FILE", ""),
            configmap_name=env.get("ADMISSION_CONFIGMAP", cls.configmap_name),
            settings=_settings(env),
        )

    @property
    def is_reachable(self) -> bool:
        """Whether the API server can call this process, as far as we were told."""
        return self.url != UNREACHABLE

    @property
    def withdraws(self) -> bool:
        """Whether the cluster outlives us, so that what we created must go when we stop."""
        return self.create_configurations and bool(self.url)

    @property
    def own_failure_policy(self) -> str:
        """A cluster that outlives us must not refuse writes because we are away, unless asked to."""
        return self.failure_policy or ("Ignore" if self.url else "Fail")


def _url(env: Mapping[str, str]) -> str:
    text = env.get("ADMISSION_URL", "").rstrip("/")
    if text in ("", UNREACHABLE):
        return text
    try:
        parts = urlsplit(text)
        usable = (
            parts.scheme == "https" and bool(parts.hostname) and (parts.port is None or parts.port)
        )
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(
            f"ADMISSION_URL={text!r}: write https://HOST:PORT, as the API server reaches it, or "
            f"{UNREACHABLE} to register no webhooks"
        )
    return text


def _failure_policy(env: Mapping[str, str]) -> str:
    text = env.get("ADMISSION_FAILURE_POLICY", "")
    if text not in ("", *FAILURE_POLICIES):
        raise ValueError(f"ADMISSION_FAILURE_POLICY={text!r}: write Fail or Ignore")
    return text


def _settings(env: Mapping[str, str]) -> Settings:
    compat = env.get("PYROCLAST_COMPAT", Compat.SEEDS.value)
    if compat not in {mode.value for mode in Compat}:
        raise ValueError(f"PYROCLAST_COMPAT={compat!r}: write seeds or upstream")
    return Settings(
        compat=Compat(compat),
        scheduler_names=scheduler_names(env, "ADMISSION_SCHEDULER_NAMES"),
        queue_depth_max=_number(env, "ADMISSION_MAX_QUEUE_DEPTH", QUEUE_DEPTH_MAX, low=1, high=64),
        root_queue_protection=_switch(env, "ADMISSION_ROOT_QUEUE_PROTECTION", default=True),
        allocated_pods_check=_switch(env, "ADMISSION_QUEUE_ALLOCATED_PODS_CHECK"),
        queue_allocation_gate=_switch(env, "ADMISSION_QUEUE_ALLOCATION_GATE"),
        time_zones=frozenset(zoneinfo.available_timezones()),
    )


def _number(env: Mapping[str, str], name: str, default: int, *, low: int, high: int) -> int:
    text = env.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or not low <= int(text) <= high:
        raise ValueError(f"{name}={text!r}: write a number from {low} to {high}")
    return int(text)


def _switch(env: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    text = env.get(name, "true" if default else "").lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(f"{name}={text!r}: write true or false")
    return text in _TRUE
