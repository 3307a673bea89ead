"""The events of a turn in the words of other protocols, for clients that speak those."""
