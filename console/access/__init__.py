"""Pages on who can do what: clients, users, roles, sign-ins, switches, the audit log."""
