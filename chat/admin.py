"""Console pages of the chat: the subject that the gateway knows a user as."""

from django.contrib import admin

from chat.models import Profile
from core.admin import base


@admin.register(Profile)
class ChatProfileAdmin(base.ModelAdmin[Profile]):
    empty = "Add a profile for each user of the chat. It has the subject that the gateway knows them as."
    list_display = ["user", "subject"]
    search_fields = ["user__username", "subject"]
    autocomplete_fields = ["user"]
    list_select_related = ["user"]
    ordering = ["user__username"]
