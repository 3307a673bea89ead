"""The texts of the layers: one module for each part of the system message."""
