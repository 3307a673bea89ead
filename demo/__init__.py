"""Example domains: files in a folder, a few commands, a small CRM and its database.

They show discovery over several domains. `load_demo --domains` creates their data in var/examples and loads their copy.
"""
