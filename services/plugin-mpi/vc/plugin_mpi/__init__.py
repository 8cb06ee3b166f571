"""The mpi plugin: the master knows its workers.

It answers with `MPI_HOST` for the pods of the master and a port for all pods. It writes nothing to
the cluster: svc provides the names, and ssh lets mpirun log in.
"""
