"""Alerts: rules over metrics, what they opened, and the job that checks them."""
