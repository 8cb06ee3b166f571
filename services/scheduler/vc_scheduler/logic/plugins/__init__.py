"""One file per plugin, one explicit registry.

A plugin is made from its arguments and takes part in every extension point (`framework.py`) whose
method it has.
"""

from typing import Final

from vc_scheduler.logic.framework import PluginFactory
from vc_scheduler.logic.plugins.binpack import Binpack
from vc_scheduler.logic.plugins.capacity import Capacity
from vc_scheduler.logic.plugins.cdp import CooldownProtection
from vc_scheduler.logic.plugins.conformance import Conformance
from vc_scheduler.logic.plugins.drf import Drf, make_drf
from vc_scheduler.logic.plugins.gang import Gang
from vc_scheduler.logic.plugins.nodeorder import NodeOrder
from vc_scheduler.logic.plugins.overcommit import Overcommit
from vc_scheduler.logic.plugins.pdb import DisruptionBudgets
from vc_scheduler.logic.plugins.predicates import Predicates
from vc_scheduler.logic.plugins.priority import Priority
from vc_scheduler.logic.plugins.proportion import Proportion
from vc_scheduler.logic.plugins.resourcequota import ResourceQuotas
from vc_scheduler.logic.plugins.sla import Sla
from vc_scheduler.logic.plugins.task_topology import TaskTopology

REGISTRY: Final[dict[str, PluginFactory]] = {
    Binpack.name: Binpack,
    Capacity.name: Capacity,
    Conformance.name: Conformance,
    CooldownProtection.name: CooldownProtection,
    DisruptionBudgets.name: DisruptionBudgets,
    Drf.name: make_drf,
    Gang.name: Gang,
    NodeOrder.name: NodeOrder,
    Overcommit.name: Overcommit,
    Predicates.name: Predicates,
    Priority.name: Priority,
    Proportion.name: Proportion,
    ResourceQuotas.name: ResourceQuotas,
    Sla.name: Sla,
    TaskTopology.name: TaskTopology,
}
