"""What the pages of reports are built from."""
