"""Batches: several calls in one request, in sequence or in parallel, that survive the process that accepted them.

The rows are the work; a message only wakes a worker (docs/adr/0012). `scheduling` parses a body and decides what may
run next, `references` fills in values from earlier results, `store` reads and writes the rows, `entry_claims` assigns
entries to runners, `runner` runs one entry, `broker` wakes workers, `sweep` recovers abandoned work, and views call
`service`.
"""
