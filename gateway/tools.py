"""The tools that a model is handed in place of all ops.

They are constants of the software, the same bytes for every caller and release: a prompt that begins with them stays
cached. Their parameters are what the API holds the bodies to.
"""

from typing import Any

from gateway import bodies

HELP: dict[str, Any] = {
    "name": "tool_help",
    "description": (
        "Find out what you can do. Send nothing for the top-level groups, path for a group or an op, or query to "
        "search by words. An op's help tells its args; they are the truth, so never guess one."
    ),
    "parameters": bodies.HELP,
}

EXEC: dict[str, Any] = {
    "name": "tool_exec",
    "description": (
        "Run one op. Take ids from what list, search and get ops answer, never from memory. After an error read "
        "tool_help of its help_path, correct the call (retry_with is the corrected one where it is given) and send it "
        "once more."
    ),
    "parameters": bodies.EXEC,
}

BATCH: dict[str, Any] = {
    "name": "tool_batch",
    "description": (
        "Send up to 50 tool_help and tool_exec calls at once; one that fails spoils no other. An entry is its call's "
        'arguments with "type": "help" or "exec", and depends_on (indexes of earlier entries) where those must succeed '
        'first. Anywhere in args {"$result": "0#/result/project/id"} is a value from the answer of entry 0, by JSON '
        "Pointer."
    ),
    "parameters": bodies.BATCH,
}

DEFINITIONS = (HELP, EXEC, BATCH)
