"""Build hooks: every folder of services/ is part of the distribution, without a list of them.

A service named `queue-controller` has its package in `services/queue-controller/vc/queue_controller`
and the command `vc-queue-controller`. Nothing else needs to be declared for it.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


def services(root: str) -> list[str]:
    """The names of all services: the folders of services/ that have a package."""
    return sorted(path.parent.name for path in Path(root).glob("services/*/vc"))


class ServiceScripts(MetadataHookInterface):
    """Adds the command `vc-<service>` of each service."""

    def update(self, metadata: dict[str, Any]) -> None:
        # `scripts` is dynamic for hatchling, so the other commands come from the hook's own table.
        scripts = dict(self.config["scripts"])
        for service in services(self.root):
            package = service.replace("-", "_")
            scripts[f"vc-{service}"] = f"vc.{package}.__main__:main"
        metadata["scripts"] = scripts


class ServicePackages(BuildHookInterface):
    """Adds the package of each service to the wheel, and its folder to an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folders = [f"services/{service}" for service in services(self.root)]
        if version == "editable":
            # Plain paths in a .pth file, which type checkers and editors can follow.
            self.build_config.target_config["dev-mode-dirs"] = ["libs", *folders]
        else:
            build_data["force_include"] |= {f"{folder}/vc": "vc" for folder in folders}
