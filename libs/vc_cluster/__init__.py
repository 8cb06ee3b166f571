"""vc_cluster."""
