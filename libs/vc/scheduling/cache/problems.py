"""Problems of invalid objects, for the log."""


class ObjectProblems(dict[str, str]):
    """Sentences by `kind key`; a valid object has none."""

    def note(self, what: str, problem: str) -> None:
        """Set the problem of an object; empty for none."""
        if problem:
            self[what] = problem
        else:
            self.pop(what, None)
