"""The part of kubernetes-asyncio that we use, without the rest.

Importing the package makes a class of every type and API of Kubernetes: forty megabytes in each
service and a quarter of a second in each `vcctl`. We send raw bodies and need none of them, only
what reads configurations, runs credential plugins and opens connections. So those modules are
imported below an empty package of the same name, which then goes away: whoever imports
kubernetes_asyncio elsewhere gets the whole of it.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

_PACKAGE: Final = "kubernetes_asyncio"
_CLIENT: Final = f"{_PACKAGE}.client"

_log: Final = logging.getLogger("pyroclast.cluster")


class Library(msgspec.Struct, frozen=True):
    """What we use of kubernetes-asyncio; it ships no types."""

    Configuration: Any
    RESTClientObject: Any
    ConfigException: type[Exception]
    load_kube_config: Any
    load_incluster_config: Any


@cache
def library() -> Library:
    """Import it at the first call: many commands never connect to anything."""
    if _PACKAGE in sys.modules:
        return _whole()
    try:
        return _part()
    except (ImportError, AttributeError) as error:
        _log.warning("kubernetes-asyncio is not built as expected, loading all of it: %s", error)
        return _whole()


def _whole() -> Library:
    client = import_module(_CLIENT)
    return _collect(client.Configuration)


def _part() -> Library:
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"no package {_PACKAGE}")
    folder = Path(spec.submodule_search_locations[0])
    with _stand_ins({_PACKAGE: folder, _CLIENT: folder / "client"}) as packages:
        configuration = import_module(f"{_CLIENT}.configuration").Configuration
        vars(packages[_CLIENT]).update(Configuration=configuration, ApiClient=_NoModels)
        return _collect(configuration)


def _collect(configuration: Any) -> Library:
    config = import_module(f"{_PACKAGE}.config")
    return Library(
        Configuration=configuration,
        RESTClientObject=import_module(f"{_CLIENT}.rest").RESTClientObject,
        ConfigException=config.ConfigException,
        load_kube_config=config.load_kube_config,
        load_incluster_config=config.load_incluster_config,
    )


class _NoModels:
    """Stands for the client that knows the models; its config module names it and we do not."""

    def __init__(self, *_: object, **__: object) -> None:
        raise NotImplementedError("this process has kubernetes-asyncio's configuration only")


@contextmanager
def _stand_ins(folders: dict[str, Path]) -> Iterator[dict[str, ModuleType]]:
    """Packages without contents whose modules can be imported, until the end of the block."""
    packages = {name: ModuleType(name) for name in folders}
    for name, folder in folders.items():
        packages[name].__path__ = [str(folder)]
    sys.modules.update(packages)
    try:
        yield packages
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
            del sys.modules[name]
