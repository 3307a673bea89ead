"""What happens in a turn, as numbered events: in memory where the turn runs, in the database for other processes."""
