"""What is wrong with which object of the cluster, for the log."""


class ObjectProblems(dict[str, str]):
    """Sentences by `kind key`; an object that is in order has none."""

    def note(self, what: str, problem: str) -> None:
        """What is wrong with an object now; empty for nothing."""
        if problem:
            self[what] = problem
        else:
            self.pop(what, None)
