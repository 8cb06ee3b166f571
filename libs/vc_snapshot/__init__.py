"""vc_snapshot."""
