"""The page of the chat: conversations, sign-in and the panel, rendered by the server. The script is in static/chat/."""
