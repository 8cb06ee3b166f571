"""vc_runtime."""
