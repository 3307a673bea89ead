"""Django admin of the chat: whom the gateway knows a user as."""

from django.contrib import admin

from chat.models import Profile
from core.admin import base


@admin.register(Profile)
class ChatProfileAdmin(base.ModelAdmin[Profile]):
    empty = "Add a profile for each user who may use the chat: it says whom the gateway knows them as."
    list_display = ["user", "subject"]
    search_fields = ["user__username", "subject"]
    autocomplete_fields = ["user"]
    list_select_related = ["user"]
    ordering = ["user__username"]
