"""Conversations and their messages in the database."""
