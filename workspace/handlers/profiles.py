"""The calling user's own profile."""

from workspace.contract import OpOutcome, OpRequest
from workspace.models import working_week
from workspace.services.access import profiles
from workspace.services.time import times


def get_profile(request: OpRequest) -> OpOutcome:
    """Return the calling user's profile, or one `part` of it; always with time zone and local time."""
    profile = profiles.get_profile(request.subject)
    now = request.at.replace(microsecond=0)
    local_fields = {
        "time_zone": profile.time_zone,
        "local_time": times.format_time(now, zone=profile.zone),
        "weekday": working_week.WEEKDAYS[now.astimezone(profile.zone).weekday()],
    }
    parts = {
        "name": profile.name or None,
        "working_hours": {day: profile.working_hours.get(day, []) for day in working_week.WEEKDAYS},
        "preferences": profile.preferences,
    }
    part = request.args.get("part")
    shown_parts = {name: value for name, value in parts.items() if part in (None, name)}
    intro = "The user has no profile yet; these are defaults." if profile._state.adding else "The user's profile."
    message = f"{intro} Calendar times without an offset are read in {profile.time_zone}."
    return OpOutcome(result={"profile": shown_parts | local_fields, "message": message})
