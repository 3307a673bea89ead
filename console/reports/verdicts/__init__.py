"""Verdicts of reports and comparisons in words."""
