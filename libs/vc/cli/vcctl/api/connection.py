"""Creates a client from parsed arguments, and reports missing objects."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from vc.cli.vcctl.api.access import find_access
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.errors import HTTP_NOT_FOUND, ApiError, CtlError
from vc.cli.vcctl.log_flags import request_log
from vc.cli.vcctl.parser_options import Target


def connect(arguments: argparse.Namespace) -> Client:
    """A client of the cluster that the arguments or the environment select."""
    access = find_access(master=arguments.master, kubeconfig=arguments.kubeconfig)
    return Client(access, request_log=request_log(arguments))


@contextmanager
def expected(target: Target, what: str) -> Iterator[None]:
    """Replace the server's error for a missing object by one that names the object and its
    namespace.
    """
    try:
        yield
    except ApiError as error:
        # A 404 may also mean that the kind is not served; only the object's own 404 is replaced.
        is_object = error.code == HTTP_NOT_FOUND and f'"{target.name}" not found' in str(error)
        if not is_object:
            raise
        where = f" in namespace {target.namespace!r}" if target.namespace else ""
        raise CtlError(f"there is no {what} {target.name!r}{where}{target.hint}") from None
