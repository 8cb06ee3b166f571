"""Machines whose clocks are wrong."""

from vc.clock import Clock


class SkewedClock:
    """A machine's clock: it runs as the true one does, and shows another time."""

    def __init__(self, true: Clock) -> None:
        self._true = true
        self.ahead_seconds = 0.0
        """Setting it is a step of that clock."""

    def now(self) -> float:
        return self._true.now() + self.ahead_seconds

    def wall(self) -> float:
        return self.now()

    def monotonic(self) -> float:
        return self._true.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._true.sleep(seconds)
