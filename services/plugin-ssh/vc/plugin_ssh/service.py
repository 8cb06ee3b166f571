"""The shell of every plugin, with a core that gets new keys when it needs them."""

import os
from collections.abc import Callable

import msgspec

from vc.jobplugin.answers import Decorated, Found, ObjectReference
from vc.jobplugin.service import PluginService
from vc.jobs.plugins.built_in import announcement_of
from vc.messages.job_plugins import SSH
from vc.messages.plugins import PluginRequest
from vc.model.compat import Compat
from vc.plugin_ssh import logic
from vc.plugin_ssh.config import Config
from vc.plugin_ssh.keypairs import make_key_pair
from vc.runtime.hosting.context import Context


class SshCore:
    """Joins the pure decisions with the creation of keys."""

    def __init__(
        self,
        make_key: Callable[[str], logic.SshKeyPair] = make_key_pair,
        *,
        compat: Compat = Compat.LENIENT,
    ) -> None:
        self._make_key = make_key
        self._compat = compat
        flags = logic.flags_of(compat)
        self.announcement = announcement_of(msgspec.structs.replace(SSH, flags=flags))

    def looks_at(self, request: PluginRequest) -> list[ObjectReference]:
        return logic.looks_at(request, compat=self._compat)

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:
        """Answer an `apply` request. A key is created only if the job has none."""
        key_type = logic.wants_key(request, found, compat=self._compat)
        fresh = self._make_key(key_type) if key_type else None
        return logic.decorate(request, found, fresh, compat=self._compat)

    def remove(self, request: PluginRequest, found: Found) -> Decorated:
        return logic.remove(request, found)


def build(context: Context, config: Config | None = None) -> PluginService:
    """Create the service. Decisions run in a thread, because an RSA key
    takes a large part of a second."""
    config = config or Config.from_env(os.environ)
    return PluginService(context, SshCore(compat=config.compat), config, slow=True)
