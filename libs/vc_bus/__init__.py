"""vc_bus."""
