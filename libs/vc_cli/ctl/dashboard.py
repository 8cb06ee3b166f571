"""Asks the dashboard: through the API server's service proxy, or at an address of its own.

Through the API server the user's own rights apply, and that is how it is asked unless an address is
given (`--dashboard`, $PYROCLAST_DASHBOARD_URL). An address is for those whose API server cannot reach
the dashboard, or who may not use its proxy. Nothing of the kubeconfig goes there: it is not even read.
"""

import argparse
import os
from collections.abc import Mapping
from typing import Final

from vc_cli.ctl.client import Client, is_address
from vc_cli.ctl.errors import HTTP_FORBIDDEN, ApiError, CtlError, NoClusterError, UsageError
from vc_cli.ctl.kubeconfig import Access
from vc_cli.ctl.parser_options import DASHBOARD_FLAG, DASHBOARD_VARIABLE
from vc_cli.ctl.resources import JsonObject
from vc_cli.ctl.session import connect

PROXY: Final = "/api/v1/namespaces/volcano-system/services/volcano-dashboard:80/proxy"
NAME: Final = "the dashboard"
_OR_ELSE: Final = f"(or write its own address: {DASHBOARD_FLAG}, ${DASHBOARD_VARIABLE})"


class Dashboard:
    """Asked through a client, below a path."""

    def __init__(self, client: Client, *, prefix: str = "", said_by: str = "") -> None:
        self._client = client
        self._prefix = prefix
        self._said_by = said_by
        """Who gave the address; empty when it is asked through the API server."""

    def ask(
        self, path: str, *, query: Mapping[str, str] | None = None, body: JsonObject | None = None
    ) -> JsonObject:
        """Its answer; one that does not answer is told apart from one that says no."""
        method = "POST" if body else "GET"
        try:
            return self._client.call(method, self._prefix + path, query=query, body=body)
        except NoClusterError as error:
            if not self._said_by:
                raise
            raise CtlError(f"{error}; {self._said_by} says to ask there") from None
        except ApiError as error:
            if not error.reason:  # its own words; an API server's come with a reason
                raise
            raise CtlError(self._not_it(error)) from None

    def _not_it(self, error: ApiError) -> str:
        if self._said_by:
            return f"{self._said_by} leads to an API server, not to the dashboard: {error}"
        if error.code == HTTP_FORBIDDEN:
            return f"you may not ask the dashboard through the API server: {error} {_OR_ELSE}"
        return (
            f"the dashboard does not answer: {error}; is the service volcano-dashboard in "
            f"volcano-system running? {_OR_ELSE}"
        )


def dashboard_of(arguments: argparse.Namespace, *, client: Client | None = None) -> Dashboard:
    """At the address that the arguments or the environment name, else behind the API server."""
    url = arguments.dashboard or os.environ.get(DASHBOARD_VARIABLE, "")
    if not url:
        return Dashboard(client or connect(arguments), prefix=PROXY)
    said_by = DASHBOARD_FLAG if arguments.dashboard else f"${DASHBOARD_VARIABLE}"
    return Dashboard(Client(Access(server=_checked(url, said_by)), what=NAME), said_by=said_by)


def _checked(url: str, said_by: str) -> str:
    if "@" in url:  # never shown: it may be a password
        raise UsageError(f"{said_by}: write the address without user and password; it takes none")
    if not is_address(url) or "?" in url or "#" in url:
        raise UsageError(
            f"{said_by}: {url!r} is not the address of a dashboard; "
            "write one like http://127.0.0.1:8080"
        )
    return url
