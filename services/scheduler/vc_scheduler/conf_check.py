"""Whether a configuration file can be used, for `vc-scheduler --check`: read as the service reads it."""

import logging
from pathlib import Path

from vc_model.faults import describe
from vc_scheduler.extensions import load_extensions
from vc_scheduler.logic import actions, plugins
from vc_scheduler.logic.conf_file import ConfError, read_conf


def file_refusal(path: str) -> str:
    """Why the file cannot be used, in one line; empty when it can."""
    load_extensions(logging.getLogger("pyroclast.scheduler"))
    try:
        read_conf(
            Path(path).read_text(encoding="utf-8"),
            actions=tuple(sorted(actions.REGISTRY)),
            plugins=tuple(sorted(plugins.REGISTRY)),
        )
    except (OSError, UnicodeDecodeError, ConfError) as error:
        return " ".join(describe(error).split())
    return ""
