"""vc_queue_controller."""
