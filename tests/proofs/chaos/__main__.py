"""`make prove-chaos`: random histories with deaths, losses and faults; every job completes once."""

import sys

from tests.proofs.chaos.proof import PROOF
from tests.proofs.runner import main

if __name__ == "__main__":
    sys.exit(main(PROOF))
