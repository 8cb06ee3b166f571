"""The HTTP face of the embedded cluster, part by part."""
