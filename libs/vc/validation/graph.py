"""Dependencies by name: unknown names and cycles."""

from collections.abc import Mapping, Sequence


def unknown_names(needs: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs of a name and an unknown name that it needs, in the order given."""
    return [(name, need) for name, needed in needs.items() for need in needed if need not in needs]


def find_cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The names on a cycle with the first one repeated at the end, or empty if there is none.

    Names without open needs are removed repeatedly. The remaining names contain a cycle,
    and following the needs among them finds it. The algorithm is linear, and iterative so
    that it cannot overflow the stack.
    """
    remaining = {name: {n for n in needed if n in needs} for name, needed in needs.items()}
    # The reverse direction makes each removal cost only its own edges.
    needed_by: dict[str, list[str]] = {name: [] for name in needs}
    for name, needed in remaining.items():
        for need in sorted(needed):
            needed_by[need].append(name)
    free = [name for name, needed in remaining.items() if not needed]
    while free:
        done = free.pop()
        del remaining[done]
        for name in needed_by[done]:
            remaining[name].discard(done)
            if not remaining[name]:
                free.append(name)
    if not remaining:
        return []
    # Every remaining name needs another one; the smallest makes the result deterministic.
    return _walk({name: min(needed) for name, needed in remaining.items()})


def _walk(following: Mapping[str, str]) -> list[str]:
    """Follow the names. Every name leads to another, and the first
    repeated one closes the cycle."""
    path: list[str] = []
    positions: dict[str, int] = {}
    name = min(following)
    while name not in positions:
        positions[name] = len(path)
        path.append(name)
        name = following[name]
    return [*path[positions[name] :], name]
