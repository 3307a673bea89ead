"""Batches: several calls sent at once, in order or in parallel, that outlive the process that took them.

A row is the work; a message only wakes. `plans` reads a body and says what may run next, `references` takes values from
earlier results, `store` holds the rows, `running` runs one entry, `queue` tells workers, `sweep` finds what was left
lying, and `service` is what the doors call.
"""
