"""Experiments: whether one arm does better than another, in figures that are valid whenever they are read."""
