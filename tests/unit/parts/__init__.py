"""The decisions of vc_parts, without network or servers."""
