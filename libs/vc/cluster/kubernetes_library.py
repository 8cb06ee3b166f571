"""Loads only the parts of kubernetes-asyncio that we use.

Importing the package creates a class for every type and API of Kubernetes, which costs forty
megabytes in each service and a quarter of a second in each `vcctl`. We send raw bodies and only
need the modules that read configurations, run credential plugins and open connections. They are
imported below an empty package of the same name, which is removed afterwards, so that another
import of kubernetes_asyncio gets the whole package.
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
    """The parts of kubernetes-asyncio that we use; the package has no type information."""

    Configuration: Any
    RESTClientObject: Any
    ConfigException: type[Exception]
    load_kube_config_from_dict: Any
    load_incluster_config: Any


@cache
def library() -> Library:
    """Imports the library on the first call; many commands never connect."""
    # Another part of the process has paid for the whole package already.
    if _PACKAGE in sys.modules:
        return _whole()
    try:
        return _part()
    except (ImportError, AttributeError) as error:
        _log.warning("kubernetes-asyncio not built as expected, loading all of it error=%s", error)
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
        # The config module imports these names from the client package.
        vars(packages[_CLIENT]).update(Configuration=configuration, ApiClient=_NoModels)
        return _collect(configuration)


def _collect(configuration: Any) -> Library:
    config = import_module(f"{_PACKAGE}.config")
    return Library(
        Configuration=configuration,
        RESTClientObject=import_module(f"{_CLIENT}.rest").RESTClientObject,
        ConfigException=config.ConfigException,
        load_kube_config_from_dict=config.load_kube_config_from_dict,
        load_incluster_config=config.load_incluster_config,
    )


class _NoModels:
    """Replaces the ApiClient with models, which the config module references and we do not use."""

    def __init__(self, *_: object, **__: object) -> None:
        raise NotImplementedError("this process has kubernetes-asyncio's configuration only")


@contextmanager
def _stand_ins(folders: dict[str, Path]) -> Iterator[dict[str, ModuleType]]:
    """Empty packages whose submodules can be imported, until the end of the block."""
    packages = {name: ModuleType(name) for name in folders}
    for name, folder in folders.items():
        packages[name].__path__ = [str(folder)]
    sys.modules.update(packages)
    try:
        yield packages
    finally:
        # Later imports elsewhere must get the real package, not the empty one.
        for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
            del sys.modules[name]
