"""Dynamic selection: which tools of the context the legacy surface shows for one message."""
