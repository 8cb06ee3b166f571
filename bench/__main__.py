"""`python -m bench`: every benchmark, or those that are named."""

import argparse
import importlib
import os

BENCHMARKS = ("watch", "scheduler", "embedded")


def main() -> None:
    """Run them one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of: {', '.join(BENCHMARKS)}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    os.environ.setdefault("PYROCLAST_DASHBOARD_PORT", "0")
    os.environ.setdefault("ADMISSION_PORT", "0")
    for name in arguments.names or BENCHMARKS:
        importlib.import_module(f"bench.bench_{name}").main()


if __name__ == "__main__":
    main()
