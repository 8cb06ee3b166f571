"""`python -m vc_model.support` prints docs/support-matrix.md."""

import sys

from vc_model.support.document import document

sys.stdout.write(document())
