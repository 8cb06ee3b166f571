"""What the scheduler notes between sessions besides the facts themselves."""
