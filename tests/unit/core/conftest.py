"""Property tests take the time that the machine needs: a busy one is no failure."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
