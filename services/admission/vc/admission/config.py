"""Configuration of admission from the environment."""

import ssl
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from vc.model import variables
from vc.model.compat import COMPAT
from vc.model.faults import describe
from vc.model.scheduler_names import scheduler_names_variable
from vc.model.variables import AnyVariable
from vc.runtime.hosting.variables import POD_NAMESPACE
from vc.validation.maxima import Maxima
from vc.validation.world import QUEUE_DEPTH_MAX, Settings

HOST: Final = variables.text("ADMISSION_HOST", "127.0.0.1", meaning="address to listen on")
PORT: Final = variables.port(
    "ADMISSION_PORT", 8443, meaning="port to listen on (HTTPS); 0 picks a free one"
)
NAMES: Final = scheduler_names_variable(
    "names of the scheduler, separated by commas; pods that name one of them are reviewed",
    "ADMISSION_SCHEDULER_NAMES",
)
CREATE_CONFIGURATIONS: Final = variables.switch(
    "ADMISSION_CREATE_CONFIGURATIONS",
    default=False,
    meaning="create the webhook configurations, where no chart does, with an address",
)
UNREACHABLE: Final = "none"
"""ADMISSION_URL of a process that the API server cannot call. Nothing is registered."""


def _parse_url(written: str) -> str:
    text = written.rstrip("/")
    if text == UNREACHABLE:
        return text
    fix = f"write https://HOST:PORT as the API server reaches it, or {UNREACHABLE} for no webhooks"
    try:
        parts = urlsplit(text)
        usable = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid host or port
        raise ValueError(fix) from None
    # A query or user in the address would be part of every webhook URL.
    if not usable or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(fix)
    return text


URL: Final = variables.Variable(
    "ADMISSION_URL",
    "",
    meaning="https://HOST:PORT by which a cluster that outlives this process reaches it: what is "
    "created there is deleted at the end; none: register nothing; "
    "without it: where it listens, for a cluster that ends together with it",
    parse=_parse_url,
)
FAILURE_POLICY: Final = variables.choice(
    "ADMISSION_FAILURE_POLICY",
    "",
    known=("Fail", "Ignore"),
    meaning="of webhooks that are created here, pods apart; without it Ignore with ADMISSION_URL, "
    "else Fail",
)
CERTIFICATE_FILE: Final = variables.file(
    "ADMISSION_TLS_CERT_FILE", meaning="certificate to serve with, instead of one of its own"
)
KEY_FILE: Final = variables.file(
    "ADMISSION_TLS_KEY_FILE", meaning="its key; goes together with ADMISSION_TLS_CERT_FILE"
)
CA_FILE: Final = variables.file(
    "ADMISSION_CA_FILE", meaning="authorities the API server shall trust; else the certificate"
)
SERVICE: Final = variables.text(
    "ADMISSION_SERVICE",
    "volcano-admission-service",
    meaning="Service that leads here; its names are in the certificate",
)
SECRET: Final = variables.text(
    "ADMISSION_SECRET", "volcano-admission-certs", meaning="Secret that keeps the certificates"
)
CONFIGURATION: Final = variables.text(
    "ADMISSION_CONFIGURATION", "volcano-admission", meaning="name of both webhook configurations"
)
CONFIGMAP: Final = variables.text(
    "ADMISSION_CONFIGMAP",
    "volcano-admission-configmap",
    meaning="ConfigMap with the resource groups of pods",
)
QUEUE_DEPTH: Final = variables.integer(
    "ADMISSION_MAX_QUEUE_DEPTH",
    QUEUE_DEPTH_MAX,
    low=1,
    high=64,
    meaning="levels a tree of queues may have",
)
ROOT_PROTECTION: Final = variables.switch(
    "ADMISSION_ROOT_QUEUE_PROTECTION", default=True, meaning="refuse changes of the queue `root`"
)
ALLOCATED_PODS_CHECK: Final = variables.switch(
    "ADMISSION_QUEUE_ALLOCATED_PODS_CHECK",
    default=True,
    meaning="refuse to delete a queue in use; with PYROCLAST_COMPAT=upstream off unless written",
)
ALLOCATION_GATE: Final = variables.switch(
    "ADMISSION_QUEUE_ALLOCATION_GATE",
    default=False,
    meaning="give pods Volcano's scheduling gate until their queue has free resources",
)
TASKS: Final = variables.integer(
    "ADMISSION_MAX_TASKS_PER_JOB", 0, low=0, high=1000, meaning="tasks of a vcjob; 0: 1000"
)
REPLICAS: Final = variables.integer(
    "ADMISSION_MAX_REPLICAS_PER_JOB",
    0,
    low=0,
    high=2**31 - 1,
    meaning="replicas of all tasks of a vcjob; 0: no maximum",
)
JOBS_THERE: Final = variables.integer(
    "ADMISSION_MAX_JOBS_PER_NAMESPACE",
    0,
    low=0,
    high=100_000,
    meaning="vcjobs in a namespace, finished ones included, counted live; 0: no maximum",
)
GROUPS_THERE: Final = variables.integer(
    "ADMISSION_MAX_PODGROUPS_PER_NAMESPACE",
    0,
    low=0,
    high=100_000,
    meaning="pod groups in a namespace, counted live; 0: no maximum",
)
ACCOUNTS: Final = variables.names(
    "ADMISSION_ACCOUNTS",
    (),
    meaning="user names of our services, separated by commas: if other users write PodGroups, "
    "status and our annotations are restored; without it nothing is",
)
QUEUE_USE_REVIEW: Final = variables.switch(
    "ADMISSION_QUEUE_USE_REVIEW",
    default=False,
    meaning="a user who submits to a queue needs the verb `use` on it (SubjectAccessReview)",
)
VARIABLES: Final[tuple[AnyVariable, ...]] = (
    HOST,
    PORT,
    COMPAT,
    NAMES,
    CREATE_CONFIGURATIONS,
    URL,
    FAILURE_POLICY,
    CERTIFICATE_FILE,
    KEY_FILE,
    CA_FILE,
    SERVICE,
    SECRET,
    CONFIGURATION,
    CONFIGMAP,
    QUEUE_DEPTH,
    ROOT_PROTECTION,
    ALLOCATED_PODS_CHECK,
    ALLOCATION_GATE,
    TASKS,
    REPLICAS,
    JOBS_THERE,
    GROUPS_THERE,
    ACCOUNTS,
    QUEUE_USE_REVIEW,
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Listening address, certificates, and the settings of the administrator."""

    host: str = HOST.default
    port: int = PORT.default
    """0 picks a free port."""
    service_name: str = SERVICE.default
    """The Service that leads here. Its names are in the certificate."""
    secret_name: str = SECRET.default
    configuration_name: str = CONFIGURATION.default
    """Name of both webhook configurations."""
    create_configurations: bool = False
    """Create the webhook configurations, with an address instead of
    a Service, as no chart does it."""
    url: str = ""
    """The address to create them with.

    Empty means the address of this process, on a cluster that ends together with it. UNREACHABLE
    means: create none, and delete those that an earlier process left there.
    """
    failure_policy: str = ""
    """Failure policy of the webhooks that we create, except for pods. Empty means Fail with our
    own address, Ignore with `url`."""
    certificate_file: str = ""
    """Together with key_file: use these files instead of creating certificates."""
    key_file: str = ""
    ca_file: str = ""
    """Authorities for the API server to trust. If empty, the certificate file is used."""
    configmap_name: str = CONFIGMAP.default
    """The ConfigMap with the resource groups of pods."""
    settings: Settings = field(default_factory=Settings)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Config":
        """Read the environment. ValueError names the variable, the value and what to write."""
        certificate, key = CERTIFICATE_FILE.read(env), KEY_FILE.read(env)
        # One without the other cannot serve, and would only fail at the first connection.
        if bool(certificate) != bool(key):
            raise ValueError(
                "ADMISSION_TLS_CERT_FILE and ADMISSION_TLS_KEY_FILE go together; set both"
            )
        create = CREATE_CONFIGURATIONS.read(env)
        # A setting without effect is refused, because its author expects one.
        for variable in (URL, FAILURE_POLICY):
            if variable.is_given(env) and not create:
                raise ValueError(
                    f"{variable.name}={env[variable.name]!r} has no effect on webhook configurations "
                    f"that we do not create; unset it, or set {CREATE_CONFIGURATIONS.name}=true"
                )
        return cls(
            host=HOST.read(env),
            port=PORT.read(env),
            service_name=SERVICE.read(env),
            secret_name=SECRET.read(env),
            configuration_name=CONFIGURATION.read(env),
            create_configurations=create,
            url=URL.read(env),
            failure_policy=FAILURE_POLICY.read(env),
            certificate_file=certificate,
            key_file=key,
            ca_file=CA_FILE.read(env),
            configmap_name=CONFIGMAP.read(env),
            settings=_settings(env),
        )

    @property
    def is_reachable(self) -> bool:
        """Whether the API server can call this process, according to the configuration."""
        return self.url != UNREACHABLE

    @property
    def withdraws(self) -> bool:
        """Whether the cluster outlives this process, so that created
        webhooks are deleted at a stop."""
        return self.create_configurations and bool(self.url)

    @property
    def own_failure_policy(self) -> str:
        """The failure policy of created webhooks.

        Without an explicit setting, a cluster that outlives this process must not
        refuse writes while it is stopped.
        """
        return self.failure_policy or ("Ignore" if self.url else "Fail")


def _settings(env: Mapping[str, str]) -> Settings:
    # The default depends on the compatibility setting, so an absent value must be distinguished.
    checked = ALLOCATED_PODS_CHECK.is_given(env)
    return Settings(
        compat=COMPAT.read(env),
        scheduler_names=NAMES.read(env),
        queue_depth_max=QUEUE_DEPTH.read(env),
        root_queue_protection=ROOT_PROTECTION.read(env),
        allocated_pods_check=ALLOCATED_PODS_CHECK.read(env) if checked else None,
        queue_allocation_gate=ALLOCATION_GATE.read(env),
        maxima=Maxima(
            tasks=TASKS.read(env),
            replicas=REPLICAS.read(env),
            jobs=JOBS_THERE.read(env),
            podgroups=GROUPS_THERE.read(env),
        ),
        accounts=ACCOUNTS.read(env),
        system_namespace=POD_NAMESPACE.read(env),
        queue_use_review=QUEUE_USE_REVIEW.read(env),
        time_zones=frozenset(zoneinfo.available_timezones()),
    )


def file_problems(environment: Mapping[str, str]) -> list[str]:
    """Problems of the certificate, its key and the authorities."""
    certificate, authorities = CERTIFICATE_FILE.read(environment), CA_FILE.read(environment)
    problems: list[str] = []
    if certificate:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                certificate, KEY_FILE.read(environment)
            )
        except (OSError, ValueError) as error:
            problems.append(
                f"{CERTIFICATE_FILE.name}={certificate!r} and {KEY_FILE.name} are not a PEM "
                f"certificate with its key: {describe(error)}"
            )
    if authorities:
        try:
            ssl.create_default_context(cafile=authorities)
        except (OSError, ValueError) as error:
            problems.append(
                f"{CA_FILE.name}={authorities!r} has no PEM certificates: {describe(error)}"
            )
    return problems
