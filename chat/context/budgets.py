"""How many tokens (o200k_base) each part of a request to the model may have."""

SYSTEM = 500
PROFILE = 300
LOCATION = 1_000
RELATED = 500
HISTORY = 4_000
TOOL_RESULTS = 1_700
RESPONSE = 2_000
HARD_LIMIT = 10_000  # all of the above together

LAST_TURN = 300  # of the history: what the last turn did
SUMMARY = 600  # of the history: the turns that are no longer sent

# Definitions of tools come on top of the hard limit. Their budgets are the gateway's; other surfaces have none.
TOOLS_BY_SURFACE = {"gateway": 900, "legacy": 6_000}
