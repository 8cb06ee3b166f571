"""The folder where parts are kept between runs: `<root>/<part>/<key>`.

**Invariant:** a folder with that name is complete. A build runs in a scratch folder beside it,
which is renamed after success, so a killed build never leaves an incomplete part. A file lock per
part and key prevents two processes (pytest-xdist, two checkouts) from building the same part at
once. The second process waits and then finds the part complete.
"""

import fcntl
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vc.parts.errors import BuildFailedError
from vc.parts.fetch.recipes import Recipe
from vc.parts.progress import BUILD_SECONDS_MAX, LINE_SECONDS, Say

LOCK_POLL_SECONDS = 0.5


def cache_root(env: Mapping[str, str]) -> Path:
    """PYROCLAST_PARTS_CACHE, or the user's cache folder."""
    if env.get("PYROCLAST_PARTS_CACHE"):
        return Path(env["PYROCLAST_PARTS_CACHE"]).expanduser().absolute()
    # The usual place, so that all checkouts of a user share one cache.
    base = Path(env["XDG_CACHE_HOME"]) if env.get("XDG_CACHE_HOME") else Path.home() / ".cache"
    return base / "pyroclast" / "parts"


def cache_key(version: str, recipe: Recipe) -> str:
    """Version, platform and recipe.

    A home folder may be shared by machines of different platforms.
    """
    return f"{version}-{sys.platform}-{platform.machine()}-{recipe.fingerprint()}"


@dataclass(frozen=True)
class Slot:
    """The place of one part at one version in one cache."""

    root: Path
    name: str
    key: str

    @property
    def folder(self) -> Path:
        """Exists only if the part is complete."""
        return self.root / self.name / self.key

    @property
    def log(self) -> Path:
        """Outside of the scratch folder, so that it is kept when a build fails."""
        return self.root / "logs" / f"{self.name}-{self.key}.log"

    @property
    def is_filled(self) -> bool:
        """Whether the part can be used from here."""
        return self.folder.is_dir()

    def _beside(self, ending: str) -> Path:
        # not with_suffix, because versions contain dots
        return self.folder.parent / (self.key + ending)

    def fill(self, build: Callable[[Path], None], say: Say) -> bool:
        """Build into the slot unless it is filled.

        False if another process has filled it meanwhile.
        """
        for folder in (self.folder.parent, self.log.parent):
            _make_folder(folder)
        with locked(self._beside(".lock"), say):
            # Checked again under the lock: another process may have built the part while we waited.
            if self.is_filled:
                return False
            scratch = self._beside(".building")
            shutil.rmtree(
                scratch, ignore_errors=True
            )  # left by a killed build; safe, because we hold the lock
            scratch.mkdir()
            # The log belongs to the last build only.
            self.log.unlink(missing_ok=True)
            try:
                build(scratch)
                # The rename is atomic: readers see no folder or a complete one.
                scratch.rename(self.folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            return True


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildFailedError(
            f"Cannot create {folder} ({error.strerror}); set PYROCLAST_PARTS_CACHE to a folder that can be written."
        ) from error


@contextmanager
def locked(path: Path, say: Say) -> Iterator[None]:
    """Hold the lock file. Reports waiting, and gives up after the longest possible build."""
    started = time.monotonic()
    next_line = started
    # The file stays after the build: removing it would let two processes lock different files.
    with path.open("w") as file:
        # Polled instead of a blocking lock, so that the wait can be reported and limited.
        while not _try_lock(file.fileno()):
            now = time.monotonic()
            if now - started > BUILD_SECONDS_MAX:
                raise BuildFailedError(f"Waited {BUILD_SECONDS_MAX:.0f} s for the lock {path}.")
            if now >= next_line:
                next_line = now + LINE_SECONDS
                say(f"another process builds the same part; waiting for {path.name}")
            time.sleep(LOCK_POLL_SECONDS)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def size_bytes(path: Path) -> int:
    """The size of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    found = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(file.stat().st_size for file in found if file.is_file())
