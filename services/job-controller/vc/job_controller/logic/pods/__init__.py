"""The pods of a job: creating, reading, counting and deleting them."""
