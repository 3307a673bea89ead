"""How people sign in: passwords, second factors, sessions, and limits of wrong ones."""
