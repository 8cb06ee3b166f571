"""preempt: starving jobs have pods of lower priority in the same queue evicted."""
