"""`python -m vc.model.support` prints docs/support-matrix.md."""

import sys

from vc.model.support.document import document

sys.stdout.write(document())
