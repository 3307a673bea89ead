"""Make texts, lists of lines and JSON shorter, and say what is missing."""
