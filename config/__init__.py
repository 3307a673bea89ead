from config.celery import app as celery_app

__all__ = ["celery_app"]  # imported with the settings, so that tasks are sent by our app and not by Celery's default
