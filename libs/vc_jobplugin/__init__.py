"""vc_jobplugin."""
