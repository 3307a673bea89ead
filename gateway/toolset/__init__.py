"""Toolset: what to show the model at the start of a turn, and the token that holds the turn to it."""
