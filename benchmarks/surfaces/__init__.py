"""Evaluation of surfaces: the same tasks through the chat on each surface, checked on the rows afterwards.

Run it with `manage.py evaluate_surfaces`; docs/evaluate.md explains the figures.
"""
