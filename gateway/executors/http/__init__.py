"""Executor of HTTP services: builds one request from the args of an op, sends it, and reads the answer."""
