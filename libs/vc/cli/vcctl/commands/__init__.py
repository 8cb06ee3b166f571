"""One module per vcctl command. A module is imported when its command runs."""
