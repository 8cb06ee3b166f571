"""The decisions of vc.parts, without network or servers."""
