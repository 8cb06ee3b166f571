"""The embedded stack is a guest in its process."""

import os
from pathlib import Path

from vc.cli.pyroclast.embedded import EmbeddedStack


async def test_admission_is_registered_and_the_environment_is_left_alone(tmp_path: Path) -> None:
    before = dict(os.environ)
    async with EmbeddedStack(home=tmp_path, services=["watcher", "admission"]) as stack:
        await stack.wait_until_ready()
        assert dict(os.environ) == before
