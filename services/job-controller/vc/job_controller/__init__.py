"""The job-controller: runs the life cycle of a vcjob, its PodGroup, its pods and its phases.

Each replica follows the facts of its partitions and reconciles each job level-triggered. It
requests decorations for pods from the job plugin services. It is the only writer of the pods and
PodGroups of vcjobs, and of the status of vcjobs.
"""
