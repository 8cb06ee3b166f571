"""`make prove-containment`: at least 1,000,000 odd inputs at every boundary, and none escapes.

A seed is some 2,000 inputs; SEEDS=0-511 are more than a million.
"""

import sys

from tests.proofs.containment.proof import prove
from tests.proofs.runner import Proof, main

PROOF = Proof(name="containment", title="batches of inputs", prove=prove, chunk=2)

if __name__ == "__main__":
    sys.exit(main(PROOF))
