"""What the environment may say to admission."""

import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from vc_admission.logic.world import QUEUE_DEPTH_MAX, Settings
from vc_model.compat import read_compat
from vc_model.scheduler_names import scheduler_names

PORT_MAX: Final = 65535
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})


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
    """Embedded mode: create the webhook configurations, with this process's address."""
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
        return cls(
            host=env.get("ADMISSION_HOST", cls.host),
            port=_number(env, "ADMISSION_PORT", cls.port, low=0, high=PORT_MAX),
            service_name=env.get("ADMISSION_SERVICE", cls.service_name),
            secret_name=env.get("ADMISSION_SECRET", cls.secret_name),
            configuration_name=env.get("ADMISSION_CONFIGURATION", cls.configuration_name),
            create_configurations=_switch(env, "ADMISSION_CREATE_CONFIGURATIONS"),
            certificate_file=certificate,
            key_file=key,
            ca_file=env.get("ADMISSION_CA_FILE", ""),
            configmap_name=env.get("ADMISSION_CONFIGMAP", cls.configmap_name),
            settings=_settings(env),
        )


def _settings(env: Mapping[str, str]) -> Settings:
    check = "ADMISSION_QUEUE_ALLOCATED_PODS_CHECK"
    return Settings(
        compat=read_compat(env),
        scheduler_names=scheduler_names(env, "ADMISSION_SCHEDULER_NAMES"),
        queue_depth_max=_number(env, "ADMISSION_MAX_QUEUE_DEPTH", QUEUE_DEPTH_MAX, low=1, high=64),
        root_queue_protection=_switch(env, "ADMISSION_ROOT_QUEUE_PROTECTION", default=True),
        allocated_pods_check=_switch(env, check) if env.get(check) else None,
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
