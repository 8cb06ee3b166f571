"""The Queue: `defaults` on CREATE, `rules` of one queue,
`hierarchy` of its position in the tree."""
