"""Who speaks: a person who is signed in, or a service with an API key of the gateway."""
