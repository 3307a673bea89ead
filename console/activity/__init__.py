"""Pages of what happened: events, turns, tool selections."""
