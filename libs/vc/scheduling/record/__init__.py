"""Session records: input frames, changed reasons, and replay."""
