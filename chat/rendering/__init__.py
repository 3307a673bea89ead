"""Markdown of models as HTML that is safe to show."""
