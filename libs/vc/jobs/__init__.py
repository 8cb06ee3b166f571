"""The rules of a vcjob that several services share: defaults, plugins, pods and the PodGroup.

Admission writes the defaults into a job, the job-controller applies them in memory and creates the
objects, and the dashboard computes the same objects for a what-if. All of it is pure. README.md has
the map.
"""
