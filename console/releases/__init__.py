"""Pages of releases: review, publish, history, differences."""
