"""Pages of cohorts, flags and exposures."""
