"""Pages of other people, made into text that a model can read: `reading.read(…)`."""
