"""Charts of the admin: bars within tables, and lines over days, which Chart.js draws."""
