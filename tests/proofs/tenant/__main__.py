"""`make prove-tenant`: random objects of a hostile tenant; the jobs of the others start all the same."""

import sys

from tests.proofs.runner import main
from tests.proofs.tenant.proof import PROOF

if __name__ == "__main__":
    sys.exit(main(PROOF))
