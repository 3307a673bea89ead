"""Toolset: the tools a model is shown at the start of a turn, and the token that keeps the turn on them."""
