"""What executors of other services share: credentials, limits, errors of calls without an answer, stored files."""
