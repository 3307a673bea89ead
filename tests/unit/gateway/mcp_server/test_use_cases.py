"""What a client reads to decide whether to load the tools."""

from gateway.mcp_server import tool_list


def test_instructions_keep_whole_paragraphs_and_stay_under_the_limit_of_clients() -> None:
    paragraphs = [f"{number} " + "é" * 300 for number in range(10)]

    text = tool_list.build_instructions("tasks (onto)", "\n\n".join(paragraphs))

    assert text.startswith("Use when a request concerns tasks (onto).\n\n0 é")
    assert len(text.encode()) <= tool_list.MAX_BYTES
    assert text.split("\n\n")[1:] == paragraphs[:3]
