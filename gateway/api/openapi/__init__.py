"""OpenAPI: one module an endpoint, with its components, and the document that they form."""
