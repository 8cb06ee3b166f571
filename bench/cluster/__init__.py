"""Measures any cluster that serves vcjobs, ours or another implementation's, in the same way.

Nothing of ours has to be installed there: all that is used is a kubeconfig, `batch.volcano.sh` jobs,
pods, and nodes that exist already (fake ones do). For each shape (jobs × pods) jobs are submitted into
a namespace of the run's own, and one watch shows when each pod was created, bound and running. The
namespace is deleted at the end, however the run ends. `python -m bench.cluster --help`.
"""
