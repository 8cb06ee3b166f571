"""vc_model."""
