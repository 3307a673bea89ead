"""The definitions of the gateway's own tools, which a model gets instead of all ops.

They are constants, with the same bytes for every caller and release, so that prompts that start with them stay cached.
Their parameters are the schemas that the API validates bodies with.
"""

from typing import Any

from gateway.contracts import request_schemas

HELP_TOOL: dict[str, Any] = {
    "name": "tool_help",
    "description": (
        "Find out what you can do. Send query to search by words; the first hits show their exact args. Send path for "
        "a group or an op, or nothing for the top-level groups."
    ),
    "parameters": request_schemas.HELP,
}

EXEC_TOOL: dict[str, Any] = {
    "name": "tool_exec",
    "description": (
        "Run one op. Take ids from the results of list, search and get ops, never from memory. After an error, send "
        "its retry_with if that is what you mean, or correct what it lists; tool_help for its help_path tells more."
    ),
    "parameters": request_schemas.EXEC,
}

BATCH_TOOL: dict[str, Any] = {
    "name": "tool_batch",
    "description": (
        "Send up to 50 tool_help and tool_exec calls at once; a failed entry does not stop the others. An entry has "
        'its call\'s arguments and "type": "help" or "exec", plus depends_on (indexes of earlier entries) if those '
        'must succeed first. Anywhere in args, {"$result": "0#/result/project/id"} is a value from the answer of '
        "entry 0, by JSON Pointer. To repeat a call for the rows of a list, read tool_help with path batch."
    ),
    "parameters": request_schemas.BATCH,
}

GATEWAY_TOOLS = (HELP_TOOL, EXEC_TOOL, BATCH_TOOL)

# tool_exec on the discovery surface, where a model has discovery tools instead of tool_help.
DISCOVERY_EXEC_TOOL: dict[str, Any] = {
    "name": "tool_exec",
    "description": (
        "Run one tool that a discovery tool listed: op is its name. Take ids from results, never from memory. After an "
        "error, send its retry_with if that is what you mean, or correct what it lists."
    ),
    "parameters": {
        **request_schemas.EXEC,
        "properties": {
            "op": {"type": "string", "minLength": 1, "description": "Name of the tool"},
            "args": {"type": "object", "description": "Its parameters"},
            "dry_run": request_schemas.EXEC["properties"]["dry_run"],
        },
    },
}

# The search of the native surface, which a provider's own tool search asks.
SEARCH_TOOL: dict[str, Any] = {
    "name": "search_tools",
    "description": (
        "Find tools by what you want to do, in the user's words; the tools that match can then be called. Search again "
        "in other words if none fits."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What you want to do"},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
}
