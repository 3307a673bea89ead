"""A scripted model: scripts and rules instead of an AI, behind the OpenAI-compatible protocol."""
