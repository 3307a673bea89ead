"""Cohorts and releases beside each other: what they show, what to do with them, and what stops them."""
