"""vc_simcluster."""
