"""A server in a container for many tests, each with a loop of its own."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

from vc.parts.availability import Way, availability_of


def only_in_container(part: str) -> bool:
    """Whether a Docker engine answers and this machine cannot start the part by itself.

    Where it can, one of our own is used: the contracts also stop and start it.
    """
    in_container = availability_of(part).way is Way.CONTAINER
    return in_container and not availability_of(part, own=True).is_now


@contextmanager
def contained(container: Callable[[], AbstractAsyncContextManager[str]]) -> Iterator[str]:
    """Its address; one loop starts and stops it, since a loop that ends would stop it too early."""
    with asyncio.Runner() as runner:
        server = container()
        address = runner.run(server.__aenter__())
        try:
            yield address
        finally:
            runner.run(server.__aexit__(None, None, None))
