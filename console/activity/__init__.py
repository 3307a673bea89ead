"""Pages on what happened: events, turns, tool selections."""
