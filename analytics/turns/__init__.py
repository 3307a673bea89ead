"""Turns: figures of one exchange between a user and a model, from its events and from reports of chat services."""
