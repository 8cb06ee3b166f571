"""vc_plugin_pytorch."""
