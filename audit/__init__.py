"""The audit log of the product: who changed what, and when."""
