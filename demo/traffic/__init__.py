"""Demo activity: four weeks of invented calls for the reports."""
