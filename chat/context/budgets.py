"""How many tokens (o200k_base) each part of a request to the model may have."""

SYSTEM = 500
PROFILE = 300
LOCATION = 1_000
RELATED = 500
HISTORY = 4_000
TOOL_RESULTS = 1_700  # at least; all that the other parts leave of the limit
RESPONSE = 2_000
HARD_LIMIT = 10_000  # all of the above together

PAST_DETAILS = 1_000  # of the history: beyond it, rows of past results keep only id, name, state and date
TURN_FACTS = 300  # what the summary is told about a turn
SUMMARY = 600  # of the history: the turns that are no longer sent
MESSAGE = 4  # around each message, as providers count them

GATEWAY_TOOLS = 900  # definitions of the surface gateway, on top of the hard limit
