"""Recipes that make a part from a package registry: three kinds, all plain data.

A recipe is frozen and complete: the same recipe produces the same files. Its fingerprint is part of
the cache key, so that a changed template leads to a new build even if the version of the part stays
the same.
"""

import hashlib
from dataclasses import dataclass

FINGERPRINT_CHARS = 8


@dataclass(frozen=True, kw_only=True)
class GoModule:
    """A small module of ours that requires the server's module and is compiled here.

    `package` is "." if there is a `main_go`, else the import path of a command in the required
    module.
    """

    program: str
    go_version: str
    """The oldest Go version that the required module accepts, such as "1.25"."""
    module: str
    """The required module with its version: "sigs.k8s.io/kwok@v0.8.0"."""
    replace: tuple[str, ...] = ()
    main_go: str = ""
    package: str = "."
    set_variables: tuple[tuple[str, str], ...] = ()
    """Go variables that the linker sets: the version that the program reports."""

    @property
    def go_mod(self) -> str:
        """The go.mod of our small module. `go get` adds the indirect requirements."""
        path, _, version = self.module.partition("@")
        # Since Go 1.21 the version of a toolchain has three parts.
        lines = [f"module pyroclast.parts/{self.program}", "", f"go {self.go_version}.0", ""]
        lines += [f"require {path} {version}", ""]
        return "\n".join(lines + [f"replace {line}" for line in self.replace]) + "\n"

    @property
    def ldflags(self) -> str:
        """Without symbols, which saves a third of the size, and with the versions."""
        return " ".join(["-s -w"] + [f"-X {name}={value}" for name, value in self.set_variables])

    def build_command(self, go: str, output: str) -> list[str]:
        """Compile two packages at a time, because the machine is shared. -v lists packages for
        progress.
        """
        flags = ["-v", "-p", "2", "-trimpath", "-ldflags", self.ldflags, "-o", output]
        return [go, "build"] + flags + [self.package]

    def fingerprint(self) -> str:
        """Changes with every text that is part of the build."""
        return _digest(self.program, self.go_mod, self.main_go, self.package, self.ldflags)


@dataclass(frozen=True, kw_only=True)
class JavaClassPath:
    """Jars that Maven copies into one folder, including dependencies."""

    java_version: int
    pom: str

    def fingerprint(self) -> str:
        """Changes with the list of jars."""
        return _digest(self.pom)


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A PyPI wheel with a program, unpacked into the cache and never into the caller's
    environment.
    """

    distribution: str
    version: str
    program: str
    """The path of the executable inside the unpacked wheel."""

    def fingerprint(self) -> str:
        """Changes with the wheel or the program that is used from it."""
        return _digest(self.distribution, self.version, self.program)


Recipe = GoModule | JavaClassPath | Wheel


def _digest(*texts: str) -> str:
    joined = "\0".join(texts).encode()
    return hashlib.sha256(joined).hexdigest()[:FINGERPRINT_CHARS]
