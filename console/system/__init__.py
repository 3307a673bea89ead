"""Guides, and lists of rows that services write."""
