"""Extract readable text from web pages, for models: `reading.read_text(…)`."""
