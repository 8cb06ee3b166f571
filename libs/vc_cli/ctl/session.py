"""From parsed arguments to a client, and the way a missing object is told."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from vc_cli.ctl.client import Client
from vc_cli.ctl.errors import HTTP_NOT_FOUND, ApiError, CtlError
from vc_cli.ctl.kubeconfig import find_access
from vc_cli.ctl.log_flags import request_log
from vc_cli.ctl.parser_options import Target


def connect(arguments: argparse.Namespace) -> Client:
    """A client of the cluster that the arguments or the environment name."""
    access = find_access(master=arguments.master, kubeconfig=arguments.kubeconfig)
    return Client(access, told=request_log(arguments))


@contextmanager
def expected(target: Target, what: str) -> Iterator[None]:
    """Say which object is missing, and where it was looked for, in place of the server's words."""
    try:
        yield
    except ApiError as error:
        is_object = error.code == HTTP_NOT_FOUND and f'"{target.name}" not found' in str(error)
        if not is_object:
            raise
        where = f" in namespace {target.namespace!r}" if target.namespace else ""
        raise CtlError(f"there is no {what} {target.name!r}{where}{target.hint}") from None
