"""nodeorder: scores of nodes by their use, by preferences of pods, and by other pods."""
