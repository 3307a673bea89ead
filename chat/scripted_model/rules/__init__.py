"""The rules for free messages: verbs and nouns decide which plan runs."""

from collections.abc import Callable
from types import MappingProxyType

from chat.scripted_model.conversation import ScriptedConversation
from chat.scripted_model.dates import Days
from chat.scripted_model.plans import Plan, run
from chat.scripted_model.rules import reads, services, writes
from chat.scripted_model.rules.lookup import Finished
from chat.scripted_model.rules.request import Declined, Request, find_undecided, read_request

# By the action of an intent.
PLANS: MappingProxyType[str, Callable[[Request, Days], Plan]] = MappingProxyType(
    {
        "list": reads.plan_list,
        "details": reads.plan_details,
        "free_time": reads.plan_free_time,
        "create": writes.plan_create,
        "update": writes.plan_update,
        "delete": writes.plan_delete,
        "schedule": writes.plan_schedule,
    }
)

INTRODUCTION = """\
I am the scripted model: I follow scripts and simple rules, in English and without AI. I can

- list, find and describe tasks, projects, documents, goals, plans, milestones, risks, requirements and events: \
*Show my overdue tasks.*
- create, rename, change and delete them: *Mark “Sell the old fridge” as done.*
- find free time and schedule tasks: *Find a free hour tomorrow.*
- show rows of connected services: *List the products.*

To connect a real model, set `LLM_BASE_URL`."""
NOT_UNDERSTOOD = (
    "I did not understand that. I am the scripted model, without AI: I follow simple rules, in English, and can list, "
    "find and change rows of the workspace and show rows of connected services. To ask freely, connect a real model "
    "with `LLM_BASE_URL`."
)
REFUSED = f"I cannot do that. {INTRODUCTION}"
REFUSED_MANY = f"I change one row at a time. {INTRODUCTION}"
WELCOME = "You are welcome."
DECLINED = "All right. Nothing was changed."

TEXTS = MappingProxyType({"introduce": INTRODUCTION, "refuse": REFUSED, "refuse_many": REFUSED_MANY, "thank": WELCOME})


def plan_free_message(conversation: ScriptedConversation, days: Days) -> Plan:
    """Return the plan of a message that no script matches."""
    try:
        if undecided := find_undecided(conversation):
            return (yield from run(undecided.op, **undecided.args)).message
        request = read_request(conversation, days)
        if request and (shown := services.describe_shown_row(request, conversation)):
            return shown
        if request is None or services.is_about_services(request):
            message = request.intent.message if request else conversation.current.message
            if answer := (yield from services.plan_service(message, days)):
                return answer
        if request is None:
            return NOT_UNDERSTOOD
        if text := TEXTS.get(request.intent.action):
            return text
        return (yield from PLANS[request.intent.action](request, days))
    except Declined:
        return DECLINED
    except Finished as finished:
        return str(finished)
