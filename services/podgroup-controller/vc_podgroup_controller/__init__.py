"""vc_podgroup_controller."""
