"""What the scheduler keeps of the cluster between sessions."""
