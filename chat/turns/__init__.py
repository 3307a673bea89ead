"""A turn: from the user's message to changed rows and an answer."""
