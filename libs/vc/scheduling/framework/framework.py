"""The plugins of one configuration, called through the extension points."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from vc.scheduling.framework.eviction_points import EvictionPoints
from vc.scheduling.framework.extension_point import ConfiguredPlugins, Plugin
from vc.scheduling.framework.job_points import JobPoints
from vc.scheduling.framework.node_points import PREDICATE, NodePoints
from vc.scheduling.framework.order_points import OrderPoints
from vc.scheduling.framework.points import points_of
from vc.scheduling.framework.queue_points import QueuePoints
from vc.scheduling.framework.registry import PluginFactory, make_plugin
from vc.scheduling.framework.stopwatch import NO_STOPWATCH, Stopwatch

if TYPE_CHECKING:
    from vc.scheduling.conf.model import Conf


class Framework:
    """The extension points of a session, grouped by what they decide on."""

    def __init__(
        self,
        conf: "Conf",
        registry: Mapping[str, PluginFactory],
        stopwatch: Stopwatch = NO_STOPWATCH,
    ) -> None:
        # Each plugin is constructed once and shared by all its extension points, so it can keep state.
        tiers = [
            [(p, make_plugin(p.name, p.arguments_with_hierarchy, registry)) for p in tier]
            for tier in conf.tiers
        ]
        self.plugins: list[tuple[str, Plugin]] = [
            (plugin_conf.name, plugin) for tier in tiers for plugin_conf, plugin in tier
        ]
        """The plugins with the names that the configuration uses for them."""
        configured = ConfiguredPlugins(tiers, points_of)
        self.order = OrderPoints(configured)
        self.nodes = NodePoints(
            configured,
            predicates_key=repr(
                [(p.name, sorted(p.arguments.items())) for p in conf.plugins if PREDICATE.active(p)]
            ),
            stopwatch=stopwatch,
        )
        self.jobs = JobPoints(configured)
        self.queues = QueuePoints(configured)
        self.evictions = EvictionPoints(configured)
        self.actions = conf.actions
        self._action_arguments = {action.name: action.arguments for action in conf.configurations}

    def action_arguments(self, action: str) -> Mapping[str, str]:
        """The arguments of an action from `configurations`."""
        return self._action_arguments.get(action, {})
