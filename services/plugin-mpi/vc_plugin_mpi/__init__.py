"""vc_plugin_mpi."""
