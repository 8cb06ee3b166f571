"""The flags of `job run` and `vsub`, which differ only in two flags and three defaults."""

import argparse

RESOURCES_DEFAULT = "cpu=1000m,memory=100Mi"


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `job run`: -N is the name, -n the namespace."""
    parser.add_argument("words", nargs="?", default="", metavar="NAME", help="the job's name")
    parser.add_argument("-N", "--name", default="", help="the same")
    parser.add_argument("-n", "--namespace", default="", help="default: the file's, or default")
    parser.add_argument("-f", "--filename", default="", metavar="FILE", help="jobs as YAML")
    parser.add_argument("-i", "--image", default="busybox")
    parser.add_argument("-S", "--scheduler", default="volcano")
    add_size_options(parser)


def add_size_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the number of pods and their resources."""
    parser.add_argument("-m", "--min", type=int, default=1, help="pods that must run together (1)")
    parser.add_argument("-r", "--replicas", type=int, default=1, help="pods in all (1)")
    for letter, name in (("-R", "--requests"), ("-L", "--limits")):
        parser.add_argument(
            letter, name, default=RESOURCES_DEFAULT, help=f"default: {RESOURCES_DEFAULT}"
        )
