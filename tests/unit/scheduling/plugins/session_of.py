"""A session over a cluster that is written as one literal, for calls of single plugins."""

from tests.unit.scheduling.world import World
from vc.scheduling import plugins
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.session.session import Session


def one_tier(*names: str | PluginConf) -> Conf:
    """A configuration of one tier."""
    return Conf(tiers=(tuple(PluginConf(name=n) if isinstance(n, str) else n for n in names),))


def session_of(world: World) -> Session:
    """A session before its first action."""
    return Session(world.snapshot(), Framework(world.conf, plugins.REGISTRY), world.now)


def group_row(session: Session, name: str) -> GroupRow:
    """The row of a pod group of the namespace `ns`."""
    return session.snapshot.all_groups[f"ns/{name}"]


def pod_row(session: Session, name: str) -> PodRow:
    """The row of a placed pod."""
    rows = session.snapshot.all_groups.values()
    return next(pod for group in rows for pod in group.placed if pod.name == name)
