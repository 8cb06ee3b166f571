"""`python -m bench`: every benchmark, or those that are named."""

import argparse
import importlib
import os
import sys

BENCHMARKS = (
    "vcctl",
    "watch",
    "scheduler",
    "loop_lag",
    "embedded",
    "jobs",
    "plugins",
    "kafka",
    "watcher_kafka",
    "checkpoint",
    "stack",
    "throughput",
    "admission",
)


def main() -> None:
    """Run them one after the other; one that fails says so and does not stop the others."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of: {', '.join(BENCHMARKS)}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    os.environ.setdefault("PYROCLAST_DASHBOARD_PORT", "0")
    os.environ.setdefault("ADMISSION_PORT", "0")
    modules = [f"bench.bench_{name}" for name in arguments.names or BENCHMARKS]
    failed = [module for module in modules if importlib.import_module(module).main() is False]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
