"""`vcctl version`: the output of Volcano's vcctl, with Python instead of Go."""

import argparse
import os
import platform
from importlib.metadata import version as installed_version
from typing import Final

from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.output.output import print_answer

SHA_VARIABLE: Final = "PYROCLAST_GIT_SHA"
DATE_VARIABLE: Final = "PYROCLAST_BUILD_DATE"
"""Images set both variables. An installation from a checkout has neither."""
UNKNOWN: Final = "unknown"


def version(arguments: argparse.Namespace) -> int:
    """Print the installed version, and the commit and date of the build if they are known."""
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
