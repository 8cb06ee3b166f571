"""The end of a session: decisions, statuses, reasons, unscheduled pods and the share report."""
