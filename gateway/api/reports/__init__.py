"""The reports endpoints: figures of a client's own calls, and of experiments, as the console shows them."""
