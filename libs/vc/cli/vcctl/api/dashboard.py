"""Requests to the dashboard, through the API server's service proxy or to a separate address.

By default requests go through the API server, where the user's own permissions apply. A separate
address (`--dashboard`, $PYROCLAST_DASHBOARD_URL) is for clusters whose API server cannot reach the
dashboard, or whose users may not use the proxy. The kubeconfig is not read in this case, so no
credentials of the cluster are sent to that address.

The default service is that of a release `volcano` in `volcano-system`. If it does not exist, the
service is searched by the chart's labels, which needs permission to list services. Other users name
it as NAMESPACE/NAME in the same places as an address.
"""

import argparse
import os
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from vc.cli.vcctl.api.client import Client, is_address
from vc.cli.vcctl.api.connection import connect
from vc.cli.vcctl.api.errors import (
    HTTP_FORBIDDEN,
    HTTP_NOT_FOUND,
    HTTP_UNAUTHORIZED,
    ApiError,
    CtlError,
    NoClusterError,
    UsageError,
)
from vc.cli.vcctl.api.resources import SERVICES, SYSTEM_NAMESPACE, JsonObject, metadata
from vc.cli.vcctl.log_flags import request_log
from vc.cli.vcctl.parser_options import DASHBOARD_FLAG, DASHBOARD_VARIABLE
from vc.kubeconfig.access import Access

NAME: Final = "the dashboard"
TOKEN_HEADER: Final = "X-Pyroclast-Authorization"  # noqa: S105 - a name
TOKEN_VARIABLE: Final = "PYROCLAST_DASHBOARD_TOKEN"  # noqa: S105 - a name
_TOKEN_HELP: Final = (
    f"where the kubeconfig has no token (a client certificate, say), write one into ${TOKEN_VARIABLE}, "
    "as `kubectl create token` gives them"
)
LABELS: Final = "app.kubernetes.io/part-of=pyroclast,app.kubernetes.io/name=dashboard"
PORT: Final = 80
_SERVICE: Final = re.compile(r"([a-z0-9][-a-z0-9]{0,62})/([a-z][-a-z0-9]{0,62})")
_OR_ELSE: Final = (
    f"(or write where it is, a NAMESPACE/NAME or its own address: {DASHBOARD_FLAG}, "
    f"${DASHBOARD_VARIABLE})"
)


class Place(NamedTuple):
    """A service that provides the dashboard."""

    namespace: str
    name: str

    @property
    def proxy(self) -> str:
        """The path of the service proxy at the API server."""
        return f"/api/v1/namespaces/{self.namespace}/services/{self.name}:{PORT}/proxy"


USUAL: Final = Place(SYSTEM_NAMESPACE, "volcano-dashboard")
PROXY: Final = USUAL.proxy


class Dashboard:
    """Sends requests through a client, to a service or to the client's own address."""

    def __init__(self, client: Client, *, place: Place | None = None, said_by: str = "") -> None:
        self._client = client
        self._place = place
        """None if the client connects to the dashboard directly."""
        self._said_by = said_by
        """Where the address or name came from. Empty for the default service."""

    def query(
        self, path: str, *, query: Mapping[str, str] | None = None, body: JsonObject | None = None
    ) -> JsonObject:
        """Return the dashboard's response.

        An unreachable dashboard and a rejected request raise different errors.
        """
        try:
            return self._ask(path, query=query, body=body)
        except ApiError as error:
            if not self._is_elsewhere(error):
                raise
            # The service was found under another name; the request is sent once more, to that
            # service.
            return self._ask(path, query=query, body=body)

    def _ask(
        self, path: str, *, query: Mapping[str, str] | None, body: JsonObject | None
    ) -> JsonObject:
        method = "POST" if body else "GET"
        prefix = self._place.proxy if self._place is not None else ""
        try:
            return self._client.call(
                method, prefix + path, query=query, body=body, more=self._caller_headers()
            )
        except NoClusterError as error:
            if self._place is not None:
                raise
            raise CtlError(f"{error}; its address is from {self._said_by}") from None
        except ApiError as error:
            # The API server's own 401 has a reason; this one is the dashboard's.
            if error.code == HTTP_UNAUTHORIZED and not error.reason:
                raise CtlError(f"the dashboard says: {error}; {_TOKEN_HELP}") from None
            if not error.reason or self._may_be_elsewhere(error):
                # Either the dashboard's own error (an API server's has a reason), or the search goes on.
                raise
            raise CtlError(self._not_it(error)) from None

    def _caller_headers(self) -> dict[str, str]:
        """The headers that authenticate the user.

        The API server's proxy consumes the user's token, so it is sent a second time in another
        header. The dashboard then shows only what the user may see. A separate address gets only
        the token that was set for it.
        """
        token = os.environ.get(TOKEN_VARIABLE, "")
        # A token must not be sent over an unencrypted connection.
        if token and not self._client.private:
            raise UsageError(f"${TOKEN_VARIABLE} could be read on the way; use https")
        if self._place is None:
            return {"Authorization": f"Bearer {token}"} if token else {}
        token = token or self._client.token
        return {TOKEN_HEADER: f"Bearer {token}"} if token else {}

    def _may_be_elsewhere(self, error: ApiError) -> bool:
        """Whether the default service does not exist, and the user has not named another one."""
        return (
            self._place == USUAL
            and not self._said_by
            and error.code == HTTP_NOT_FOUND
            and f'services "{USUAL.name}' in str(error)
        )

    def _is_elsewhere(self, error: ApiError) -> bool:
        """Search the service by labels, once.

        Return whether there is another service to send requests to.
        """
        if not self._may_be_elsewhere(error):
            return False
        # Set before the search: `_may_be_elsewhere` is then false, so the search is not repeated.
        self._said_by = f"no service {'/'.join(USUAL)}"
        found = labelled(self._client)
        # With several matches the user has to choose; guessing could show another installation.
        if len(found) != 1:
            several = f"; several carry its labels: {', '.join(map('/'.join, found))}"
            raise CtlError(self._not_it(error) + (several if found else ""))
        (self._place,) = found
        return True

    def _not_it(self, error: ApiError) -> str:
        if self._place is None:
            return f"{self._said_by} leads to an API server, not to the dashboard: {error}"
        if error.code == HTTP_FORBIDDEN:
            return f"you have no permission to use the dashboard through the API server: {error} {_OR_ELSE}"
        return (
            f"the dashboard does not answer: {error}; is the service {self._place.name} in "
            f"{self._place.namespace} running? {_OR_ELSE}"
        )


def labelled(client: Client) -> list[Place]:
    """The services with our chart's labels. Empty if the user may not list services."""
    try:
        services, _ = client.list(SERVICES, query={"labelSelector": LABELS})
    except CtlError:
        return []
    return [
        Place(str(m.get("namespace", "")), str(m.get("name", ""))) for m in map(metadata, services)
    ]


def named_place(arguments: argparse.Namespace) -> Place | None:
    """The service that the arguments or the environment name."""
    found = _SERVICE.fullmatch(arguments.dashboard or os.environ.get(DASHBOARD_VARIABLE, ""))
    return Place(found[1], found[2]) if found else None


def dashboard_of(arguments: argparse.Namespace, *, client: Client | None = None) -> Dashboard:
    """The dashboard that the arguments or the environment select, otherwise the default service."""
    said = arguments.dashboard or os.environ.get(DASHBOARD_VARIABLE, "")
    said_by = DASHBOARD_FLAG if arguments.dashboard else f"${DASHBOARD_VARIABLE}"
    place = named_place(arguments)
    if place is not None:
        return Dashboard(client or connect(arguments), place=place, said_by=said_by)
    if not said:
        return Dashboard(client or connect(arguments), place=USUAL)
    # Without the kubeconfig's credentials: they are meant for the API server only.
    access = Access(server=_checked(said, said_by))
    there = Client(access, what=NAME, request_log=request_log(arguments))
    return Dashboard(there, said_by=said_by)


def _checked(url: str, said_by: str) -> str:
    if "@" in url:  # the URL is not shown, because it may contain a password
        raise UsageError(f"{said_by}: write the address without user and password; it takes none")
    if not is_address(url) or "?" in url or "#" in url:
        raise UsageError(
            f"{said_by}: {url!r} is not the address of a dashboard; "
            "write one like http://127.0.0.1:8080, or a service like volcano-system/volcano-dashboard"
        )
    return url
