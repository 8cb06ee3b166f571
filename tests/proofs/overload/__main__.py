"""The first half of `make prove-overload`: random slow API servers; nothing is lost, rebuilt or released."""

import sys

from tests.proofs.overload.proof import PROOF
from tests.proofs.runner import main

if __name__ == "__main__":
    sys.exit(main(PROOF))
