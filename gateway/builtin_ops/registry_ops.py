"""x.registry.help and x.agent.run: the registry as an op, and what a caller needs to run an agent."""

from typing import Any

from core.text import json_text
from gateway.contracts import help_errors
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.executors.base import UpstreamCall, UpstreamResponse
from registry.help import answers, help_pages
from registry.help.answers import BadHelpQuery, UnknownPath
from registry.help.help_pages import HelpQuery


def answer_help(work: UpstreamCall, _: Any) -> UpstreamResponse:
    """Return the body that help answers. Raises NotFoundError, InvalidRequestError."""
    if "path" in work.args and "query" in work.args:
        problem = FieldError("/query", "conflict", "Send path or query, not both.")
        raise InvalidRequestError(problem.message, reason="invalid_args", field_errors=[problem])
    try:
        answer = help_pages.answer_query(work.catalog, HelpQuery(**work.args), work.visibility)
    except (UnknownPath, BadHelpQuery) as error:
        raise help_errors.to_api_error(_leave_out_name(error), reason="unknown_path") from None
    return UpstreamResponse(json_text.load(answer.body))


def _leave_out_name(error: UnknownPath | BadHelpQuery) -> UnknownPath | BadHelpQuery:
    """Return the error without the name that was sent: errors of exec repeat no args."""
    if isinstance(error, BadHelpQuery):
        return error
    hint = f" Did you mean {', '.join(error.did_you_mean)}?" if error.did_you_mean else ""
    message = f"There is no such path or argument.{hint}"
    return type(error)(message, help_path=error.help_path, did_you_mean=error.did_you_mean)


def plan_agent_run(work: UpstreamCall, _: Any) -> UpstreamResponse:
    """Return what the caller, who runs the model, needs to run an agent. Raises NotFoundError for an unknown agent.

    The caller keeps within max_calls, and sends Gateway-Agent with each call: that limits the agent to its ops.
    """
    try:
        agent = answers.find_visible_agent(work.catalog, work.visibility, work.args["agent"])
    except UnknownPath as error:
        raise help_errors.to_api_error(error, reason="unknown_agent") from None
    run = {
        "agent": agent.name,
        "max_calls": work.args["max_calls"],
        "system_prompt": agent.system_prompt,
    }
    message = f"Run {agent.name} with a toolset of its own and the header Gateway-Agent: {agent.name}."
    return UpstreamResponse({"run": run, "message": message})
