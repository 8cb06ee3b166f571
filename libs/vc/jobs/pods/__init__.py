"""From the task of a job to its pods: template, decorations, volumes, and what the gang needs."""
