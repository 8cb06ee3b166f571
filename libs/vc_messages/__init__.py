"""vc_messages."""
