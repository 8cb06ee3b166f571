"""`pyroclast stack-down`: end what `stack.json` names, and nothing else.

The supervisor is told first, since it would start again what we end; it ends everything in order.
What is left (the supervisor was killed) is ended here, each process only if it still is the one that
was written down; webhooks that a killed admission left on a user's cluster are deleted.
"""

import asyncio
from pathlib import Path
from typing import Final

from vc_cli import processes, stack_file
from vc_cli.stack_admission import withdraw
from vc_cli.stack_file import NoStackError, ProcessEntry, StackFile
from vc_cli.stack_supervision import Say

SUPERVISOR_SECONDS_MAX: Final = 60.0
"""It waits for services and for Kafka, each with a bound of its own."""
PROCESS_SECONDS_MAX: Final = 15.0


async def run_stack_down(home: Path) -> int:
    """End the stack of this home; 0 when none of its processes is left."""
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
    """End what an earlier supervisor left behind, on the cluster too, and forget it.

    False when webhooks may still be on a cluster that outlives the stack; then it is not forgotten.
    """
    try:
        stack = stack_file.read(home)
    except NoStackError:
        return True
    if stack.supervisor.is_running:
        return True  # not ours to end: whoever holds the lock decides
    await _stop_all(stack, say)
    if stack.admission_url and stack.kubeconfig:
        left = await withdraw(Path(stack.kubeconfig), stack.admission_url)
        if left:
            say(left)
            return False
    stack_file.remove(home)
    return True


async def _stop_all(stack: StackFile, say: Say) -> None:
    """Services together, then the rest in the reverse order of their start."""
    running = stack.running()
    if running:
        say(f"ending {len(running)} processes that an earlier stack left behind")
    services = [entry for entry in running if entry.role == "service"]
    await asyncio.gather(*(_stop(entry) for entry in services))
    for entry in reversed(running):
        await _stop(entry)


async def _stop(entry: ProcessEntry) -> None:
    await processes.stop(entry.pid, seconds_max=PROCESS_SECONDS_MAX)
