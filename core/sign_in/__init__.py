"""How people sign in: passwords, second factors, sessions, and limits on wrong passwords and codes."""
