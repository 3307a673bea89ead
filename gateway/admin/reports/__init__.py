"""Reports for product managers: what calls and turns came to, each page one question, each figure led to its rows."""
