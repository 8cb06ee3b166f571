"""What is exported, and that what is written about it is true."""
