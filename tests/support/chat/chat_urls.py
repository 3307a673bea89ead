"""The URLs of the chat and of the gateway that it calls, in one process."""

from config import urls
from config.chat import urls as chat_urls

urlpatterns = [*chat_urls.urlpatterns, *urls.urlpatterns]
