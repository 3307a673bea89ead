"""Pages of what models read: ops, groups, prompt sections, agents, pins and their history."""
