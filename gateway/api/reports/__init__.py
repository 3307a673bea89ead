"""The reports endpoints: figures of a client's own calls, as the console shows them."""
