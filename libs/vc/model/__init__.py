"""The objects of the API as plain data.

The package has structs of the Volcano kinds in full and of the parts of Kubernetes objects that we
read, quantities as exact integers, selectors, and the label and annotation keys. Nothing here does
I/O. Decoding keeps only declared fields, so a changed object is written as a patch, or through
`graft`, which keeps undeclared fields.
"""
