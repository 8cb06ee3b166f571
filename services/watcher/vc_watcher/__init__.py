"""vc_watcher."""
