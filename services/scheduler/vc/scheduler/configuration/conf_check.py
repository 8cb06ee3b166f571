"""Checks a configuration file for `vc-scheduler --check`, exactly as the service reads it."""

import logging
from pathlib import Path

from vc.model.faults import describe
from vc.scheduler.configuration.extensions import load_extensions
from vc.scheduling.conf.volcano_file import ConfError
from vc.scheduling.conf_reader import read_conf_text


def file_refusal(path: str) -> str:
    """Return in one line why the file cannot be used; empty when it can."""
    load_extensions(logging.getLogger("pyroclast.scheduler"))
    try:
        read_conf_text(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ConfError) as error:
        return " ".join(describe(error).split())
    return ""
