"""vc_plugin_svc."""
