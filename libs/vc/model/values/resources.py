"""Amounts of resources: the one type that adds, subtracts and compares them.

`Resources` maps the name of a resource to an exact integer in the unit of
`vc.model.values.quantity.decimals_of`. It is a `dict`, so that it is encoded, iterated and looked
up at the speed of one; only its arithmetic is added. Three rules hold everywhere:

- A resource that is not named counts as zero: `resources[name]` never raises.
- Arithmetic keeps names, also those of zero amounts, because a limit of zero is not the same as no
  limit: a queue with capability `nvidia.com/gpu: 0` has no GPUs, a queue without the name has all.
- Operators return a new value. `add`, `raise_to` and `drop_zeros` change the value in place; only
  the owner of a running total calls them, never a reader that was handed the value.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Self

Amounts = Mapping[str, int] | tuple[tuple[str, int], ...]
"""What can be added: a mapping, or the sorted pairs that the scheduler's rows store."""


class Resources(dict[str, int]):
    """Amounts by the name of the resource, in exact integers."""

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        return 0

    @classmethod
    def total(cls, parts: Iterable[Amounts]) -> Self:
        """The sum of any number of amounts."""
        found = cls()
        for part in parts:
            found.add(part)
        return found

    def add(self, amounts: Amounts, times: int = 1) -> None:
        """Add a multiple of the amounts in place; `times=-1` subtracts them."""
        for name, amount in _pairs(amounts):
            self[name] = self.get(name, 0) + times * amount

    def raise_to(self, amounts: Amounts) -> None:
        """Raise each amount in place to at least the other's."""
        for name, amount in _pairs(amounts):
            self[name] = max(self.get(name, 0), amount)

    def drop_zeros(self) -> None:
        """Forget zero amounts in place, so that a running total does not depend on its history."""
        for name in [name for name, amount in self.items() if not amount]:
            del self[name]

    def __add__(self, amounts: Amounts) -> Self:
        found = type(self)(self)
        found.add(amounts)
        return found

    def __sub__(self, amounts: Amounts) -> Self:
        found = type(self)(self)
        found.add(amounts, times=-1)
        return found

    def scaled(self, times: int) -> Self:
        """Each amount times a number."""
        return type(self)((name, amount * times) for name, amount in self.items())

    def largest(self, amounts: Amounts) -> Self:
        """The larger amount of each resource."""
        found = type(self)(self)
        found.raise_to(amounts)
        return found

    def smallest(self, amounts: Mapping[str, int]) -> Self:
        """The smaller amount of each resource, for the names of either."""
        # A dict and not a set, because the order of names must not depend on the hash seed.
        names = {**self, **amounts}
        return type(self)((name, min(self[name], amounts.get(name, 0))) for name in names)

    def positive(self) -> Self:
        """Only the amounts above zero."""
        return type(self)((name, amount) for name, amount in self.items() if amount > 0)

    def missing_in(self, available: Mapping[str, int]) -> Self:
        """By how much each amount exceeds what is available; empty if all of them fit."""
        return type(self)(
            (name, amount - available.get(name, 0))
            for name, amount in self.items()
            if amount > available.get(name, 0)
        )

    def fits_in(self, available: Mapping[str, int]) -> bool:
        """Whether no amount exceeds what is available."""
        return all(amount <= available.get(name, 0) for name, amount in self.items())

    def only(self, names: Collection[str]) -> Self:
        """The amounts of the given resources."""
        return type(self)((name, amount) for name, amount in self.items() if name in names)

    def without(self, names: Collection[str]) -> Self:
        """The amounts of all resources but the given ones."""
        return type(self)((name, amount) for name, amount in self.items() if name not in names)


def _pairs(amounts: Amounts) -> Iterable[tuple[str, int]]:
    return amounts if isinstance(amounts, tuple) else amounts.items()
