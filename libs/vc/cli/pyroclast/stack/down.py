"""`pyroclast stack-down`: stop what `stack.json` names, and nothing else.

The supervisor is stopped first, because it would restart stopped processes; it stops everything in
order. If the supervisor was killed, the remaining processes are stopped here, each only if it is
still the recorded process. Webhooks that a killed admission left on a user's cluster are deleted.
"""

import asyncio
from pathlib import Path
from typing import Final

from vc.cli.pyroclast import processes
from vc.cli.pyroclast.stack import stack_file
from vc.cli.pyroclast.stack.admission import withdraw
from vc.cli.pyroclast.stack.stack_file import NoStackError, ProcessEntry, StackFile
from vc.cli.pyroclast.stack.supervision import Say

SUPERVISOR_SECONDS_MAX: Final = 60.0
"""The supervisor waits for services and for Kafka, each with its own bound."""
PROCESS_SECONDS_MAX: Final = 15.0


async def run_stack_down(home: Path) -> int:
    """Stop the stack of this home folder. Returns 0 if none of its processes is left."""
    stack = stack_file.read(home)
    running = stack.running()
    if stack.supervisor.is_running:
        print(f"stopping {len(running)} processes (supervisor {stack.supervisor.number})")
        await processes.stop(stack.supervisor, seconds_max=SUPERVISOR_SECONDS_MAX)
    withdrawn = await stop_leftovers(home, say=print)
    left = stack.running()
    for entry in left:
        print(f"{entry.name} (pid {entry.pid.number}) is still running")
    if not left:
        print("stopped")
    return 1 if left or not withdrawn else 0


async def stop_leftovers(home: Path, *, say: Say) -> bool:
    """Stop what an earlier supervisor left behind, delete its webhooks, and remove `stack.json`.

    Returns False if webhooks may still be on a cluster that outlives the stack. `stack.json` is
    then kept.
    """
    try:
        stack = stack_file.read(home)
    except NoStackError:
        return True
    if stack.supervisor.is_running:
        return True  # the owner of the lock decides about a running stack
    await _stop_all(stack, say)
    if stack.admission_url and stack.kubeconfig:
        left = await withdraw(Path(stack.kubeconfig), stack.admission_url)
        if left:
            say(left)
            return False
    # Last: while webhooks are left, the file is what another `stack-down` needs to find them.
    stack_file.remove(home)
    return True


async def _stop_all(stack: StackFile, say: Say) -> None:
    """Stop the services together, then the rest in reverse order of their start."""
    running = stack.running()
    if running:
        say(f"ending {len(running)} processes that an earlier stack left behind")
    services = [entry for entry in running if entry.role == "service"]
    await asyncio.gather(*(_stop(entry) for entry in services))
    # Stopping a service a second time does nothing.
    for entry in reversed(running):
        await _stop(entry)


async def _stop(entry: ProcessEntry) -> None:
    await processes.stop(entry.pid, seconds_max=PROCESS_SECONDS_MAX)
