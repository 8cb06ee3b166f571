"""The rules, one module or package per kind. No I/O, no clock, no randomness.

`review` is the entry point: it maps an AdmissionReview and a `World` to a bounded answer. `offline`
applies the same rules to manifests. A rule never raises: an error becomes a `Problem`, a likely
mistake becomes a warning, and all of them are reported together.
"""
