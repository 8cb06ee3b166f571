"""vc_plugin_env."""
