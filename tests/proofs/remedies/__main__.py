"""`make prove-remedies`: random waiting jobs; what explain proposes starts each of them.

A seed is a random cluster with some waiting jobs; SEEDS=0-2999 have more than 10,000 of them.
"""

import gc
import sys
from typing import Final

from tests.proofs.remedies.proof import prove_world
from tests.proofs.runner import Proof, main

GC_ALLOCATIONS: Final = 200_000
"""Between two collections: sessions make many objects that refer to nothing in a circle."""
PROOF: Final = Proof(
    name="remedies",
    title="clusters",
    prove=prove_world,
    sources=("tests/unit/scheduling",),
)

if __name__ == "__main__":
    gc.set_threshold(GC_ALLOCATIONS)  # inherited by the processes of the runner, which are forked
    sys.exit(main(PROOF))
