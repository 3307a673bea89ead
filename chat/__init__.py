"""The reference chat service: it reaches the gateway by HTTP only, as any chat would."""
