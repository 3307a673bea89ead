"""Reports, their charts and saved views."""
