"""Built-in plugins, one file per plugin, and the registry that lists them.

A plugin is constructed from its arguments. It takes part in every extension point (see `framework`)
whose methods it defines; any other public method is an error.
"""

from typing import Final

from vc.scheduling.framework.registry import PluginFactory
from vc.scheduling.plugins.binpack import Binpack
from vc.scheduling.plugins.capacity import Capacity
from vc.scheduling.plugins.cdp import CooldownProtection
from vc.scheduling.plugins.conformance import Conformance
from vc.scheduling.plugins.drf.plugin import Drf, make_drf
from vc.scheduling.plugins.gang import Gang
from vc.scheduling.plugins.nodeorder.plugin import NodeOrderPlugin
from vc.scheduling.plugins.overcommit import Overcommit
from vc.scheduling.plugins.pdb import DisruptionBudgets
from vc.scheduling.plugins.predicates.plugin import Predicates
from vc.scheduling.plugins.priority import PriorityPlugin
from vc.scheduling.plugins.proportion import Proportion
from vc.scheduling.plugins.resourcequota import ResourceQuotas
from vc.scheduling.plugins.sla import Sla
from vc.scheduling.plugins.task_topology import TaskTopology

REGISTRY: Final[dict[str, PluginFactory]] = {
    Binpack.name: Binpack,
    Capacity.name: Capacity,
    Conformance.name: Conformance,
    CooldownProtection.name: CooldownProtection,
    DisruptionBudgets.name: DisruptionBudgets,
    Drf.name: make_drf,
    Gang.name: Gang,
    NodeOrderPlugin.name: NodeOrderPlugin,
    Overcommit.name: Overcommit,
    Predicates.name: Predicates,
    PriorityPlugin.name: PriorityPlugin,
    Proportion.name: Proportion,
    ResourceQuotas.name: ResourceQuotas,
    Sla.name: Sla,
    TaskTopology.name: TaskTopology,
}
