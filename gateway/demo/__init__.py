"""A demo of activity: four weeks of calls that nobody made, for reports to show."""
