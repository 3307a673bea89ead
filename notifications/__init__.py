"""Messages to people, by e-mail and webhook."""
