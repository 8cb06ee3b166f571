"""`vcctl queue`: create, list, open, close and delete queues, their tree and what waits in them."""
