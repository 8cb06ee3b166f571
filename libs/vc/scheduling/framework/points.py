"""All extension points, and the check of plugin classes against them.

A plugin class is checked when it is loaded. A public method that belongs to no extension point is
an error, because a misspelled method would otherwise never be called and no user would notice.
"""

import functools
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final

from vc.model.support.nearest import did_you_mean
from vc.scheduling.framework import (
    eviction_points,
    job_points,
    node_points,
    order_points,
    queue_points,
)
from vc.scheduling.framework.extension_point import ExtensionPoint, without_self

EXTENSION_POINTS: Final[tuple[ExtensionPoint[Any], ...]] = (
    order_points.QUEUE_ORDER,
    order_points.JOB_ORDER,
    order_points.TASK_ORDER,
    node_points.PRE_PREDICATE,
    node_points.PREDICATE,
    node_points.POD_PREDICATE,
    node_points.VOLUME_BINDING,
    node_points.BATCH_NODE_ORDER,
    node_points.NODE_ORDER,
    node_points.IMAGE_NODE_ORDER,
    node_points.PLACE_ONE_BY_ONE,
    job_points.JOB_ENQUEUEABLE,
    job_points.JOB_ENQUEUEABLE_PERMIT,
    job_points.JOB_VALID,
    job_points.JOB_READY,
    job_points.JOB_PIPELINED,
    job_points.JOB_STARVING,
    queue_points.OVERUSED,
    queue_points.ALLOCATABLE,
    queue_points.FLAT_QUEUE_LIMITS,
    queue_points.DESERVED_SHARES,
    queue_points.PREEMPTIVE,
    queue_points.QUEUE_RECLAIM,
    eviction_points.PREEMPT,
    eviction_points.RECLAIM,
    eviction_points.PREEMPT_LIMIT,
    eviction_points.RECLAIM_LIMIT,
    eviction_points.PREEMPT_GANG_MINIMUM,
    eviction_points.RECLAIM_GANG_MINIMUM,
    eviction_points.EQUAL_PRIORITY_PREEMPTABLE,
)

_METHODS: Final[Mapping[str, inspect.Signature]] = {
    name: signature for point in EXTENSION_POINTS for name, signature in point.methods.items()
}
_PROTOCOLS: Final = tuple(point.protocol for point in EXTENSION_POINTS)
_METHOD_TYPES: Final = (
    FunctionType,
    staticmethod,
    classmethod,
    property,
    functools.cached_property,
)


class InvalidPluginError(ValueError):
    """A plugin class does not fit the extension points. The message names plugin and method."""


@functools.cache
def points_of(plugin: type) -> tuple[ExtensionPoint[Any], ...]:
    """The extension points that a plugin class implements, found once per class and process."""
    has = _public_methods(plugin)
    return tuple(p for p in EXTENSION_POINTS if all(name in has for name in p.methods))


@functools.cache
def check_plugin_class(name: str, plugin: type) -> None:
    """Raise if a public method is unknown or has other parameters than its extension point."""
    for method, value in _public_methods(plugin).items():
        expected = _METHODS.get(method)
        if expected is None:
            hint = did_you_mean(method, _METHODS) or f"; there are {', '.join(sorted(_METHODS))}"
            raise InvalidPluginError(
                f"plugin {name!r}: method {method!r} belongs to no extension point{hint}"
            )
        if isinstance(value, property | functools.cached_property):
            raise InvalidPluginError(
                f"plugin {name!r}: {method!r} is a property, and the extension point calls it as "
                f"{method}{_shown(expected)}"
            )
        if inspect.iscoroutinefunction(_function(value)):
            raise InvalidPluginError(
                f"plugin {name!r}: method {method!r} is a coroutine, and a session cannot await it"
            )
        given = _signature(value)
        if not _accepts(given, expected):
            raise InvalidPluginError(
                f"plugin {name!r}: method {method!r} takes {_shown(given)}, and the extension "
                f"point calls it as {method}{_shown(expected)}"
            )


def _public_methods(plugin: type) -> dict[str, Any]:
    """The public methods of a class and its bases, by name, as they are written in the class."""
    found: dict[str, Any] = {}
    for base in reversed(plugin.__mro__):
        # A plugin may derive from a Protocol to be checked by mypy. Its stubs are no answers.
        if base is object or base in _PROTOCOLS or base.__module__ in ("typing", "abc"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_"):
                continue
            if isinstance(value, _METHOD_TYPES):
                found[name] = value
            else:
                # A subclass may switch a method off: `job_order_key = None`.
                found.pop(name, None)
    return found


def _function(value: Any) -> Any:
    """The function behind a static or class method."""
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def _signature(value: Any) -> inspect.Signature:
    """The signature of a method as its caller sees it."""
    signature = inspect.signature(_function(value))
    return signature if isinstance(value, staticmethod) else without_self(signature)


def _accepts(given: inspect.Signature, expected: inspect.Signature) -> bool:
    """Whether the parameters have the expected names, and any further ones have defaults."""
    kinds = {parameter.kind for parameter in given.parameters.values()}
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds:
        return True  # a decorator that passes everything on hides the parameters
    keywords = [p.name for p in expected.parameters.values() if p.kind is p.KEYWORD_ONLY]
    positions = [p.name for p in expected.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    ordered = [
        p.name
        for p in given.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    by_name = {
        p.name: p
        for p in given.parameters.values()
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    }
    further = [
        p
        for p in given.parameters.values()
        if p.name not in (*positions, *keywords) and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return (
        ordered[: len(positions)] == positions
        and all(name in by_name for name in keywords)
        and all(p.default is not p.empty for p in further)
    )


def _shown(signature: inspect.Signature) -> str:
    """The parameters without annotations: `(session, group, *, whole)`."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))
