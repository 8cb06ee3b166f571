"""The state machine of a job: phases, policies, steps, dependencies."""
