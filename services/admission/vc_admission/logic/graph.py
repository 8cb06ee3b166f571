"""Dependencies by name: unknown names and cycles."""

from collections.abc import Mapping, Sequence


def unknown_names(needs: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Who needs what is not there, in the order given."""
    return [(name, need) for name, needed in needs.items() for need in needed if need not in needs]


def find_cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The names on a cycle, the first one repeated at the end; empty when there is none.

    Names are taken away once all they need is away; what remains holds a cycle, and walking from
    one to the next among the remaining finds it. Linear, and iterative on purpose.
    """
    remaining = {name: {n for n in needed if n in needs} for name, needed in needs.items()}
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
    return _walk({name: min(needed) for name, needed in remaining.items()})


def _walk(following: Mapping[str, str]) -> list[str]:
    """Every name leads to another: the first one met twice closes the cycle."""
    path: list[str] = []
    places: dict[str, int] = {}
    name = min(following)
    while name not in places:
        places[name] = len(path)
        path.append(name)
        name = following[name]
    return [*path[places[name] :], name]
