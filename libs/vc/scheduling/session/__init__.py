"""The working state of one session: statement, node capacity, pod affinity, volumes, reasons."""
