from config.celery import app as celery_app

__all__ = ["celery_app"]  # imported with the settings, so that tasks use our Celery app and not the default app
