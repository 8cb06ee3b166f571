"""The mpi plugin: the master knows its workers.

Answers with `MPI_HOST` for the master's pods and a port for all. It writes nothing to the cluster:
svc gives the names, ssh lets mpirun log in.
"""
