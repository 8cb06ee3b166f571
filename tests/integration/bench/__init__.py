"""The benchmark of any cluster, run over HTTP on the embedded one."""
