"""The Queue: `defaults` on CREATE, `rules` of one queue, `hierarchy` of its place in the tree."""
