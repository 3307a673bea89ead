"""The URLs of the chat and of the gateway that it calls, in one process."""

from config import chat_urls, urls

urlpatterns = [*chat_urls.urlpatterns, *urls.urlpatterns]
