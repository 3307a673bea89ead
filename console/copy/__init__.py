"""Pages of what models read: ops, groups, prompt sections, agents, pins, the vocabulary and their history."""
