"""The objects of the API as plain data.

Structs of the Volcano kinds in full, and of the parts we read of Kubernetes' own; quantities as
exact integers; selectors; the label and annotation keys. Nothing here does I/O. Decoding keeps only
what is declared, so a changed object goes back as a patch, or through `graft`, which keeps what we
do not know.
"""
