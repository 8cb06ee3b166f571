"""Address and credentials of the API server.

`vc.kubeconfig` reads the files; kubernetes-asyncio turns the selected context into a configuration:
it runs credential plugins, renews OIDC tokens and writes the files that OpenSSL needs. It has
several ways to renew tokens; here there is one. `LiveConfiguration.authorization` checks for a newer
token about once a minute, and `renew` gets one immediately after the API server rejected the old
one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from vc.clock import Clock
from vc.cluster.errors import ServerError
from vc.cluster.kubernetes_library import library
from vc.kubeconfig.reader import KubeconfigError, kubeconfig_files, read_context
from vc.model.faults import describe

IN_CLUSTER: Final = "in-cluster"
"""The configuration source of a pod: its service account."""

ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder where the kubelet mounts it."""

TOKEN_CHECK_SECONDS: Final = 60.0
"""How often files are read again; the kubelet replaces a projected token long before it expires."""

RENEW_SECONDS_MAX: Final = 30.0
"""Time limit for a credential plugin, which may contact a remote provider."""

_NEVER: Final = float("inf")
_log: Final = logging.getLogger("pyroclast.cluster")


class ConfigurationError(Exception):
    """No API server is configured; the message says what to set."""


class Loader(Protocol):
    """Writes address, certificates and token into kubernetes-asyncio's configuration."""

    async def load(self, configuration: Any, *, rejected: bool) -> float:
        """Load, and return the seconds until the next check is useful.

        `rejected` means that the API server refused the current token, so cached credentials must
        not be used.
        """
        ...


def find_source(environment: Mapping[str, str], *, kubeconfig: str = "") -> str:
    """The kubeconfig's path, IN_CLUSTER, or empty if no cluster is configured.

    `~/.kube/config` is not used, so that a laptop does not start scheduling by accident.
    """
    given = kubeconfig or environment.get("KUBECONFIG", "")
    if given:
        return given
    return IN_CLUSTER if environment.get("KUBERNETES_SERVICE_HOST") else ""


async def open_configuration(
    source: str, *, clock: Clock, context: str = "", environment: Mapping[str, str]
) -> "LiveConfiguration":
    """Read the configuration of `source`; raises ConfigurationError with the reason."""
    if not source:
        raise ConfigurationError(
            "no cluster given: set KUBECONFIG to a kubeconfig file, or run in a pod"
        )
    loader: Loader
    if source == IN_CLUSTER:
        loader = ServiceAccountLoader(environment)
    else:
        loader = KubeconfigLoader(source, context=context)
    live = LiveConfiguration(library().Configuration(), loader, clock=clock)
    await live.load()
    return live


class LiveConfiguration:
    """The configuration of one connection, kept up to date.

    Loading runs in its own task, at most one at a time: a credential plugin may take longer than
    the request that needs its token, and must not be started again by each request.
    """

    def __init__(self, configuration: Any, loader: Loader, *, clock: Clock) -> None:
        self.configuration = configuration
        self._loader = loader
        self._clock = clock
        self._check_at = 0.0
        self._loading: asyncio.Task[None] | None = None
        self._failure = ""
        """Why the last load failed; empty if it succeeded."""

    async def load(self, *, rejected: bool = False) -> None:
        """Load the configuration and the credentials now."""
        after = await _configured(self._loader.load(self.configuration, rejected=rejected))
        self._check_at = self._clock.monotonic() + after

    async def authorization(self) -> str:
        """The current value of the header; empty if the server needs none or we use a certificate.

        A newer token is loaded in the background: the old one is valid until the server rejects it.
        """
        # In the background: the current token stays valid until the server rejects it.
        if self._clock.monotonic() >= self._check_at:
            self._begin(rejected=False)
        return self._token

    async def renew(self, refused: str) -> bool:
        """Get another token than the rejected one; returns whether there is one."""
        # The load that is under way may bring the new token, and a plugin should run only once.
        if self._loading is not None:
            await asyncio.shield(self._loading)
        if self._token == refused:  # otherwise another request has renewed it meanwhile
            # Other requests wait for the same task, so one that is cancelled must not end it.
            await asyncio.shield(self._begin(rejected=True))
            if self._failure:
                raise ServerError(f"credentials could not be renewed: {self._failure}")
        return self._token != refused

    async def close(self) -> None:
        """Cancel the loading of a token."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    @property
    def _token(self) -> str:
        return str(self.configuration.api_key.get("BearerToken", "")).strip()

    def _begin(self, *, rejected: bool) -> "asyncio.Task[None]":
        if self._loading is None:
            self._loading = asyncio.create_task(self._reload(rejected=rejected))
        return self._loading

    async def _reload(self, *, rejected: bool) -> None:
        try:
            await self.load(rejected=rejected)
            self._failure = ""
        except ConfigurationError as error:
            self._failure = str(error)
            # Do not run a failing plugin again for every request.
            self._check_at = self._clock.monotonic() + TOKEN_CHECK_SECONDS
            _log.warning("credentials_not_renewed using=previous error=%s", error)
        finally:
            self._loading = None


class KubeconfigLoader:
    """One or several kubeconfig files, as in KUBECONFIG, and one of their contexts."""

    def __init__(self, paths: str, *, context: str = "") -> None:
        self._paths = paths
        self._context = context
        self._loader: Any = None

    async def load(self, configuration: Any, *, rejected: bool) -> float:
        if self._loader is None:
            self._loader = await self._first(configuration)
        else:
            # Forget the expiry, else the loader would reuse the rejected token.
            if rejected and hasattr(self._loader, "exec_plugin_expiry"):
                del self._loader.exec_plugin_expiry
            await self._loader.load_and_set(configuration)
        return TOKEN_CHECK_SECONDS if self._is_worth_checking() else _NEVER

    async def _first(self, configuration: Any) -> Any:
        selected = read_context(kubeconfig_files(self._paths), context=self._context)
        return await library().load_kube_config_from_dict(
            config_dict=selected.document(), client_configuration=configuration
        )

    def _is_worth_checking(self) -> bool:
        """Whether periodic checks are useful. A plugin without an expiry would run each time, so it
        is run again only after a rejection.
        """
        user = self._loader._user  # noqa: SLF001 - kubernetes-asyncio's own refresh_token does so
        return not (user and "exec" in user) or hasattr(self._loader, "exec_plugin_expiry")


class ServiceAccountLoader:
    """A pod's service account: files that the kubelet keeps up to date."""

    def __init__(self, environment: Mapping[str, str], *, folder: Path = ACCOUNT_FOLDER) -> None:
        self._environment = environment
        self._folder = folder

    async def load(self, configuration: Any, *, rejected: bool) -> float:  # noqa: ARG002 - files are always read again
        library().load_incluster_config(
            client_configuration=configuration,
            # `LiveConfiguration` is the one place that renews tokens.
            try_refresh_token=False,
            token_filename=str(self._folder / "token"),
            cert_filename=str(self._folder / "ca.crt"),
            environ=dict(self._environment),
        )
        return TOKEN_CHECK_SECONDS


async def _configured(loading: Awaitable[float]) -> float:
    """Turns the exceptions of kubernetes-asyncio for a broken configuration into one error."""
    try:
        async with asyncio.timeout(RENEW_SECONDS_MAX):
            return await loading
    except (KubeconfigError, library().ConfigException) as error:
        raise ConfigurationError(str(error)) from error
    except TimeoutError as error:
        raise ConfigurationError(f"credentials took more than {RENEW_SECONDS_MAX:g} s") from error
    except (AssertionError, AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"kubeconfig cannot be used: {type(error).__name__}: {describe(error)}"
        ) from error
