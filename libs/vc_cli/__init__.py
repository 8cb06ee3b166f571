"""vc_cli."""
