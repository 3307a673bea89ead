"""An example service: a shop with an OpenAPI document, whose operations become ops.

It stands for the services that a team connects. It knows nothing about the gateway and keeps its rows in memory.
"""
