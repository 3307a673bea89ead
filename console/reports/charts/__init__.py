"""Charts of reports: two sides day by day, and what happened on each day."""
