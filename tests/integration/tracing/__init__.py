"""Spans of calls."""
