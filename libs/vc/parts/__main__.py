"""The command line: `get` parts, `list` them, or `run` servers until Ctrl-C.

An error is one sentence on standard error with exit code 1, without a traceback.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence

from vc.cli.tables import render
from vc.parts.availability import Way, availability_of, given_address, obtain_with_needs
from vc.parts.errors import PartError
from vc.parts.fetch.cache import cache_root, size_bytes
from vc.parts.fetch.catalogue import PARTS, part_named
from vc.parts.fetch.getting import Obtained
from vc.parts.progress import Progress
from vc.parts.running import RUNNABLE, running_servers

EPILOG = """\
environment:
  KAFKA_BOOTSTRAP_SERVERS, REDIS_URL            use these servers instead of starting some
  OTEL_EXPORTER_OTLP_ENDPOINT, JAEGER_QUERY_URL the same for Jaeger; both are needed
  PYROCLAST_TEST_KUBECONFIG                     a kubeconfig that tests may use, or 1 for the one in KUBECONFIG
  PYROCLAST_REQUIRE=kafka,redis,kubernetes      tests fail instead of skipping when one of these is missing
  PYROCLAST_PARTS_CACHE                         where parts are kept (default: ~/.cache/pyroclast/parts)
  PYROCLAST_PARTS_LOGS                          a folder that keeps the logs of all servers
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "get":
            return get(options.parts or list(PARTS))
        if options.command == "list":
            return show()
        return run(options.parts)
    except PartError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vc.parts",
        description="Gets and starts the real servers that tests, benches and `make stack` use.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="get|list|run")
    known = "\n".join(f"  {part.name:<11} {part.version:<9} {part.what}" for part in PARTS.values())
    get_parser = commands.add_parser(
        "get",
        help="download or build parts into the cache",
        description="Downloads or builds parts into the cache; without names, all of them.",
        epilog=f"parts:\n{known}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    get_parser.add_argument("parts", nargs="*", metavar="part", help="names; default: all")
    commands.add_parser("list", help="show each part and how it would be got")
    run_parser = commands.add_parser(
        "run",
        help="start servers, print their addresses, stop them on Ctrl-C",
        description="Starts servers on loopback ports, prints their addresses as shell lines, stops on Ctrl-C.",
    )
    run_parser.add_argument(
        "parts", nargs="+", choices=RUNNABLE, metavar="part", help=", ".join(RUNNABLE)
    )
    return parser


def get(names: Sequence[str]) -> int:
    """Get each part, quick ones first. A failure does not stop the others."""
    say = Progress()
    wanted = sorted((part_named(name) for name in set(names)), key=lambda part: part.build_seconds)
    rows: dict[str, list[str]] = {}
    failures = []
    # Quick parts come first, so that a failure of a long build does not delay them.
    for part in wanted:
        # A given server needs nothing from us.
        given = given_address(part, os.environ)
        if given:
            rows[part.name] = [part.name, "", f"given: {given}", "", "", ""]
            continue
        try:
            rows |= {
                # A part that two others need is listed once.
                row.name: _row(row)
                for row in obtain_with_needs(part.name, say=say)
                if row.name not in rows
            }
        except PartError as error:
            rows[part.name] = [part.name, part.version, "failed", "", "", ""]
            failures.append(str(error))
    header = ("PART", "VERSION", "FROM", "SECONDS", "SIZE", "WHERE")
    print(render(header, list(rows.values())))
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def _row(found: Obtained) -> list[str]:
    megabytes = f"{found.bytes_on_disk / 1e6:.0f} MB"
    version = found.version or "as is"
    return [found.name, version, found.source, f"{found.seconds:.1f}", megabytes, str(found.path)]


def show() -> int:
    """Print a table of all parts and how each would be obtained."""
    rows = []
    for part in PARTS.values():
        found = availability_of(part.name)
        version = "as is" if found.way in (Way.GIVEN, Way.MACHINE) else part.version
        rows.append([part.name, version, found.way, found.why])
    print(render(("PART", "VERSION", "WAY", "WHY"), rows))
    root = cache_root(os.environ)
    print(f"\ncache: {root} ({size_bytes(root) / 1e6:.0f} MB)")
    return 0


def run(names: Sequence[str]) -> int:
    """Start the servers and run until SIGINT or SIGTERM."""
    for name in names:
        # A started server would contradict the one that the environment names.
        if availability_of(name).way is Way.GIVEN:
            raise PartError(
                f"{name} is given by the environment; unset {', '.join(PARTS[name].given_by)} to start one."
            )

    async def until_signal() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        started = time.monotonic()
        async with running_servers(names) as lines:
            print("\n".join(lines), flush=True)
            print(f"# up in {time.monotonic() - started:.1f} s; Ctrl-C stops", flush=True)
            await stop.wait()
            print("# stopping", flush=True)

    # Servers are stopped inside the context manager; the cancellation that follows is expected.
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(until_signal())
    return 0


if __name__ == "__main__":
    sys.exit(main())
