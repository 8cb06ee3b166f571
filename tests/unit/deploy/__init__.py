"""What the files in deploy/ say, without any program to read them."""
