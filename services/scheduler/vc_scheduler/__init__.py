"""vc_scheduler."""
