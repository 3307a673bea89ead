"""Simulated experiments: how often chance alone gets a verdict, and how soon harm is found."""
