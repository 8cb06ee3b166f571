"""The folder where parts live between runs: `<root>/<part>/<key>`.

**Invariant:** a folder with that name is complete. A build goes on in a scratch folder beside it and is renamed
in when it has succeeded, so a killed build never leaves a half part behind. A file lock per part and
key keeps two processes (pytest-xdist, two checkouts) from building the same thing at once: the second one waits and
then finds it done.
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

from vc_parts.errors import BuildFailedError
from vc_parts.progress import BUILD_SECONDS_MAX, LINE_SECONDS, Say
from vc_parts.recipes import Recipe

LOCK_POLL_SECONDS = 0.5


def cache_root(env: Mapping[str, str]) -> Path:
    """PYROCLAST_PARTS_CACHE, else the user's cache folder."""
    if env.get("PYROCLAST_PARTS_CACHE"):
        return Path(env["PYROCLAST_PARTS_CACHE"]).expanduser().absolute()
    base = Path(env["XDG_CACHE_HOME"]) if env.get("XDG_CACHE_HOME") else Path.home() / ".cache"
    return base / "pyroclast" / "parts"


def cache_key(version: str, recipe: Recipe) -> str:
    """Version, platform and recipe: a home folder may be shared by machines of two kinds."""
    return f"{version}-{sys.platform}-{platform.machine()}-{recipe.fingerprint()}"


@dataclass(frozen=True)
class Slot:
    """The place of one part at one version in one cache."""

    root: Path
    name: str
    key: str

    @property
    def folder(self) -> Path:
        """Exists only when complete."""
        return self.root / self.name / self.key

    @property
    def log(self) -> Path:
        """Outside the scratch folder: it stays when a build fails."""
        return self.root / "logs" / f"{self.name}-{self.key}.log"

    @property
    def is_filled(self) -> bool:
        """True when the part can be used from here."""
        return self.folder.is_dir()

    def _beside(self, ending: str) -> Path:
        return self.folder.parent / (self.key + ending)  # not with_suffix: versions have dots

    def fill(self, build: Callable[[Path], None], say: Say) -> bool:
        """Builds into the slot unless it is filled; False when another process had done it meanwhile."""
        for folder in (self.folder.parent, self.log.parent):
            _make_folder(folder)
        with locked(self._beside(".lock"), say):
            if self.is_filled:
                return False
            scratch = self._beside(".building")
            shutil.rmtree(
                scratch, ignore_errors=True
            )  # of a build that was killed; we hold the lock
            scratch.mkdir()
            self.log.unlink(missing_ok=True)
            try:
                build(scratch)
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
    """Holds the lock file; says that it waits, and gives up after the longest build there can be."""
    started = time.monotonic()
    next_line = started
    with path.open("w") as file:
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
    """Of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    found = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(file.stat().st_size for file in found if file.is_file())
