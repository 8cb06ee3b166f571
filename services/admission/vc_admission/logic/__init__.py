"""The rules, one module or package per kind. No I/O, no clock, no chance.

`review` is the door: an AdmissionReview and a `World` in, a bounded answer out. `offline` runs the
same rules over manifests. A rule never raises: what is wrong becomes a `Problem`, what is a trap
becomes a warning, and all of them are told at once.
"""
