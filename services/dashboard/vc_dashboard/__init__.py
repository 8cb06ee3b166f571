"""vc_dashboard."""
