"""The vcjob: `defaults` on CREATE, `create` and `update` validate, `traps` warns."""
