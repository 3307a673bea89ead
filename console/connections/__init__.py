"""Pages of connected services: settings, secrets, imports, figures."""
