"""Example domains: files in a folder, a few commands, a small CRM and its database.

They show discovery over several domains. `load_demo --domains` creates their data in var/examples and loads their copy.
"""

from typing import Any

from gateway.demo.domains import crm, database, files, shell
from gateway.executors.base import BuiltinHandler

HANDLERS: dict[str, BuiltinHandler[Any]] = {
    "read_file": BuiltinHandler(apply=files.read_file),
    "search_files": BuiltinHandler(apply=files.search_files),
    "write_file": files.build_write_handler(files.plan_write),
    "edit_file": files.build_write_handler(files.plan_edit),
    "list_commands": BuiltinHandler(apply=shell.list_commands),
    "run_command": BuiltinHandler(apply=shell.run_command),
    "run_commands": BuiltinHandler(apply=shell.run_commands),
    "list_contacts": BuiltinHandler(apply=crm.list_contacts),
    "get_contact": BuiltinHandler(apply=crm.get_contact),
    "create_contact": crm.build_write_handler(crm.create_contact),
    "update_contact": crm.build_write_handler(crm.update_contact),
    "list_deals": BuiltinHandler(apply=crm.list_deals),
    "update_deal": crm.build_write_handler(crm.update_deal),
    "list_tables": BuiltinHandler(apply=database.list_tables),
    "describe_table": BuiltinHandler(apply=database.describe_table),
    "run_query": BuiltinHandler(apply=database.run_query),
}
