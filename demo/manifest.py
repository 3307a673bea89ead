"""What the example domains offer: their ops."""

from core.handler_contract import EmbeddedUpstream, OpHandler, OpRequest
from core.manifest import Manifest
from demo import crm, database, files, shell

HANDLERS: dict[str, OpHandler[OpRequest]] = {
    "read_file": OpHandler(apply=files.read_file),
    "search_files": OpHandler(apply=files.search_files),
    "write_file": files.build_write_handler(files.plan_write),
    "edit_file": files.build_write_handler(files.plan_edit),
    "list_commands": OpHandler(apply=shell.list_commands),
    "run_command": OpHandler(apply=shell.run_command),
    "run_commands": OpHandler(apply=shell.run_commands),
    "list_contacts": OpHandler(apply=crm.list_contacts),
    "get_contact": OpHandler(apply=crm.get_contact),
    "create_contact": crm.build_write_handler(crm.create_contact),
    "update_contact": crm.build_write_handler(crm.update_contact),
    "list_deals": OpHandler(apply=crm.list_deals),
    "update_deal": crm.build_write_handler(crm.update_deal),
    "list_tables": OpHandler(apply=database.list_tables),
    "describe_table": OpHandler(apply=database.describe_table),
    "run_query": OpHandler(apply=database.run_query),
}

# Our transaction undoes nothing in a folder or in another database.
MANIFEST = Manifest(upstreams=[EmbeddedUpstream("examples", HANDLERS, transactional=False)])
