"""Turns: what one exchange between a user and a model came to, from its events and from what the chat tells."""
