"""`vcctl version`: what upstream prints, with Python where it says Go."""

import argparse
import json
import platform
from importlib.metadata import version as installed_version

from vc_cli.ctl.errors import EXIT_OK


def version(arguments: argparse.Namespace) -> int:
    """Print it."""
    release = installed_version("pyroclast")
    if arguments.output:
        print(json.dumps({"version": release, "python": platform.python_version()}))
        return EXIT_OK
    print(f"vcctl {release}")
    print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    return EXIT_OK
