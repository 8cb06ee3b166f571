"""Defaults and validation rules of the API's objects: pure, one module or package per kind.

`rules` is the entry point: `defaulted` and `validate` apply every rule of a kind to a request and a
`World`. Admission calls them for the API server, and `offline` for manifests without a cluster
(`vcctl validate`, what-if). A rule never raises: an error becomes a `FieldProblem`, a likely mistake
becomes a warning, and all of them are reported together.
"""
