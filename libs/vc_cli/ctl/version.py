"""`vcctl version`: what upstream prints, with Python where it says Go."""

import argparse
import os
import platform
from importlib.metadata import version as installed_version
from typing import Final

from vc_cli.ctl.errors import EXIT_OK
from vc_cli.ctl.output import print_answer

SHA_VARIABLE: Final = "PYROCLAST_GIT_SHA"
DATE_VARIABLE: Final = "PYROCLAST_BUILD_DATE"
"""Images carry both; an installation from a checkout knows neither."""
UNKNOWN: Final = "unknown"


def version(arguments: argparse.Namespace) -> int:
    """Print it."""
    release = installed_version("pyroclast")
    built = {
        "gitSha": os.environ.get(SHA_VARIABLE) or UNKNOWN,
        "buildDate": os.environ.get(DATE_VARIABLE) or UNKNOWN,
    }
    if arguments.output:
        answer = {"version": release, **built, "python": platform.python_version()}
        print_answer(answer, arguments.output)
        return EXIT_OK
    print(f"vcctl {release}")
    print(f"Git SHA {built['gitSha']}, built {built['buildDate']}")
    print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    return EXIT_OK
