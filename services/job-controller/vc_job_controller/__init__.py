"""The life of a vcjob: its pod group, its pods, its phases.

Follows the facts of its share of the jobs and decides, level-triggered, what each job needs next.
It asks the plugin services how pods are to be decorated, and is the only one that writes the pods
and pod groups of vcjobs and the status of vcjobs.
"""
