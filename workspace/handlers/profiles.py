"""The calling user's own profile."""

from workspace.contract import Outcome, Request
from workspace.models import week
from workspace.services import profiles, times


def get(request: Request) -> Outcome:
    """Return the calling user's profile, or one `part` of it; always with time zone and local time."""
    profile = profiles.of(request.subject)
    now = request.at.replace(microsecond=0)
    place = {
        "time_zone": profile.time_zone,
        "local_time": times.write(now, zone=profile.zone),
        "weekday": week.WEEKDAYS[now.astimezone(profile.zone).weekday()],
    }
    parts = {
        "name": profile.name or None,
        "working_hours": {day: profile.working_hours.get(day, []) for day in week.WEEKDAYS},
        "preferences": profile.preferences,
    }
    wanted = request.args.get("part")
    told = {name: value for name, value in parts.items() if wanted in (None, name)}
    known = "The user has no profile yet; these are defaults." if profile._state.adding else "The user's profile."
    message = f"{known} Calendar times without an offset are read in {profile.time_zone}."
    return Outcome(result={"profile": told | place, "message": message})
