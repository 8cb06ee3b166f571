"""vc_plugin_ssh."""
