"""Pages of who may do what: clients, users, roles, sign-ins, switches, the audit log."""
