"""Where the API server is and how we prove who we are.

kubernetes-asyncio reads kubeconfig files, runs credential plugins and knows a pod's service
account. It renews tokens in several ways of its own; here they are one: `Access.authorization`
looks for a newer token about once a minute, and `Access.renew` asks for one at once after the API
server refused the old one.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import yaml

from vc_clock import Clock
from vc_cluster.errors import ServerError
from vc_cluster.kubernetes_library import library
from vc_model.faults import describe

IN_CLUSTER: Final = "in-cluster"
"""The source of configuration of a pod: its service account."""

ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where kubelet puts it."""

TOKEN_CHECK_SECONDS: Final = 60.0
"""How often files are read again; kubelet replaces a projected token long before it ends."""

RENEW_SECONDS_MAX: Final = 30.0
"""A credential plugin may talk to a provider far away, but not for ever."""

_NEVER: Final = float("inf")
_log: Final = logging.getLogger("pyroclast.cluster")


class ConfigurationError(Exception):
    """There is no usable way to an API server; the message says what to set."""


class Loader(Protocol):
    """Puts address, certificates and token into kubernetes-asyncio's configuration."""

    async def load(self, configuration: Any, *, anew: bool) -> float:
        """Load and return the seconds after which looking again is worth it.

        `anew` means that the token was refused: whatever was remembered about it is wrong.
        """
        ...


def find_source(environment: Mapping[str, str], *, kubeconfig: str = "") -> str:
    """The kubeconfig's path, IN_CLUSTER, or empty when nothing says where a cluster is.

    `~/.kube/config` does not count: nobody's laptop should start scheduling by accident.
    """
    given = kubeconfig or environment.get("KUBECONFIG", "")
    if given:
        return given
    return IN_CLUSTER if environment.get("KUBERNETES_SERVICE_HOST") else ""


async def open_access(
    source: str, *, clock: Clock, context: str = "", environment: Mapping[str, str]
) -> "Access":
    """Read the configuration of `source`; ConfigurationError says what is wrong with it."""
    if not source:
        raise ConfigurationError(
            "no cluster given: set KUBECONFIG to a kubeconfig file, or run in a pod"
        )
    loader: Loader
    if source == IN_CLUSTER:
        loader = ServiceAccountLoader(environment)
    else:
        loader = KubeconfigLoader(source, context=context)
    access = Access(library().Configuration(), loader, clock=clock)
    await access.load()
    return access


class Access:
    """The configuration of one connection, kept fresh.

    Loading runs in a task of its own, at most one at a time: a credential plugin may take longer
    than the request that needs its token, and must not be started over by each of them.
    """

    def __init__(self, configuration: Any, loader: Loader, *, clock: Clock) -> None:
        self.configuration = configuration
        self._loader = loader
        self._clock = clock
        self._check_at = 0.0
        self._loading: asyncio.Task[None] | None = None
        self._failure = ""
        """Why the last loading failed; empty when it did not."""

    async def load(self, *, anew: bool = False) -> None:
        """Read everything now."""
        after = await _loud(self._loader.load(self.configuration, anew=anew))
        self._check_at = self._clock.monotonic() + after

    async def authorization(self) -> str:
        """The header's value now; empty when the server asks for none or knows our certificate.

        A newer one is looked for on the side: the old one is good until the server says otherwise.
        """
        if self._clock.monotonic() >= self._check_at:
            self._begin(anew=False)
        return self._token

    async def renew(self, refused: str) -> bool:
        """Get another token than the one refused; whether there is one."""
        if self._loading is not None:
            await asyncio.shield(self._loading)
        if self._token == refused:  # else somebody has renewed it meanwhile
            await asyncio.shield(self._begin(anew=True))
            if self._failure:
                raise ServerError(f"credentials could not be renewed: {self._failure}")
        return self._token != refused

    async def close(self) -> None:
        """Give up looking for a token."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    @property
    def _token(self) -> str:
        return str(self.configuration.api_key.get("BearerToken", "")).strip()

    def _begin(self, *, anew: bool) -> "asyncio.Task[None]":
        if self._loading is None:
            self._loading = asyncio.create_task(self._reload(anew=anew))
        return self._loading

    async def _reload(self, *, anew: bool) -> None:
        try:
            await self.load(anew=anew)
            self._failure = ""
        except ConfigurationError as error:
            self._failure = str(error)
            self._check_at = self._clock.monotonic() + TOKEN_CHECK_SECONDS
            _log.warning("credentials not renewed, going on with the old ones: %s", error)
        finally:
            self._loading = None


class KubeconfigLoader:
    """One or several kubeconfig files, as in KUBECONFIG, and one of their contexts."""

    def __init__(self, paths: str, *, context: str = "") -> None:
        self._paths = paths
        self._context = context
        self._loader: Any = None

    async def load(self, configuration: Any, *, anew: bool) -> float:
        if self._loader is None:
            self._loader = await self._first(configuration)
        else:
            if anew and hasattr(self._loader, "exec_plugin_expiry"):
                del self._loader.exec_plugin_expiry
            await self._loader.load_and_set(configuration)
        return TOKEN_CHECK_SECONDS if self._is_worth_checking() else _NEVER

    async def _first(self, configuration: Any) -> Any:
        if not _any_exists(self._paths):
            raise ConfigurationError(f"kubeconfig {self._paths!r} does not exist")
        return await library().load_kube_config(
            config_file=self._paths,
            context=self._context or None,
            client_configuration=configuration,
            persist_config=False,
        )

    def _is_worth_checking(self) -> bool:
        """A plugin that names no expiry would be run each time: then only a refusal counts."""
        user = self._loader._user  # noqa: SLF001 - kubernetes-asyncio's own refresh_token does so
        return not (user and "exec" in user) or hasattr(self._loader, "exec_plugin_expiry")


class ServiceAccountLoader:
    """A pod's own account: files that kubelet keeps fresh."""

    def __init__(self, environment: Mapping[str, str], *, folder: Path = ACCOUNT_FOLDER) -> None:
        self._environment = environment
        self._folder = folder

    async def load(self, configuration: Any, *, anew: bool) -> float:  # noqa: ARG002 - files are always read anew
        library().load_incluster_config(
            client_configuration=configuration,
            try_refresh_token=False,
            token_filename=str(self._folder / "token"),
            cert_filename=str(self._folder / "ca.crt"),
            environ=dict(self._environment),
        )
        return TOKEN_CHECK_SECONDS


def _any_exists(paths: str) -> bool:
    return any(Path(path).expanduser().is_file() for path in paths.split(os.pathsep) if path)


async def _loud(loading: Awaitable[float]) -> float:
    """Turn whatever kubernetes-asyncio throws at a broken configuration into one sentence."""
    try:
        async with asyncio.timeout(RENEW_SECONDS_MAX):
            return await loading
    except library().ConfigException as error:
        raise ConfigurationError(str(error)) from error
    except TimeoutError as error:
        raise ConfigurationError(f"credentials took more than {RENEW_SECONDS_MAX:g} s") from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"kubeconfig is not YAML: {error}") from error
    except (AssertionError, AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"kubeconfig cannot be used: {type(error).__name__}: {describe(error)}"
        ) from error
