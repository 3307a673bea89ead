"""Writes pages of docs/ from the code, for manage.py docs."""
