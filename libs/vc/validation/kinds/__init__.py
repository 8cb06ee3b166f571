"""Rules of the smaller kinds: CronJob, JobFlow, JobTemplate, HyperNode, Command, PodGroup."""
