"""The server as the MCP SDK takes it: a handler for each method, completions and prompts."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    ElicitRequestFormParams,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from rest_framework.exceptions import Throttled

from core import tracing
from core.text import english, json_text
from core.version import VERSION
from gateway.batches import input_answers
from gateway.contracts.errors import GatewayError
from gateway.contracts.user_questions import UserAnswer
from gateway.mcp_server import agreement, resources, tool_calls, tool_list, user_questions
from gateway.mcp_server.caller_source import CallerSource, McpCall
from gateway.mcp_server.client_watcher import ClientWatcher
from gateway.mcp_server.errors import build_unknown_error, to_mcp_error
from gateway.mcp_server.tool_calls import ToolAnswer
from registry.catalog.model import CatalogAgent
from registry.help import answers
from registry.models import ROOT

MAX_VALUES = 100  # that a result of MCP may have
SURFACE_PROMPT = "how_to_use_the_tools"
TASK = "task"
TTL_MS = 60_000
NAME = "tool-gateway"
TITLE = "Tool Gateway"
T = TypeVar("T")
Context = ServerRequestContext[Any, Any]


def complete_path(call: McpCall, params: CompleteRequestParams) -> CompleteResult:
    """Return the paths that begin with what was typed, then those that contain it."""
    is_path = isinstance(params.ref, ResourceTemplateReference) and params.ref.uri == resources.TEMPLATE
    if not is_path or params.argument.name != resources.PATH:
        return CompleteResult(completion=Completion(values=[], total=0, has_more=False))
    typed = params.argument.value
    view = call.load_catalog().view_for(call.caller.visibility)
    paths = [path for path in sorted({*view.children, *view.ops} - {ROOT}) if typed in path]
    paths.sort(key=lambda path: not path.startswith(typed))
    values = paths[:MAX_VALUES]
    return CompleteResult(completion=Completion(values=values, total=len(paths), has_more=len(paths) > len(values)))


def list_prompts(call: McpCall) -> ListPromptsResult:
    """Return the prompt of the surface and one for each agent whose prompt the caller can read."""
    prompts = [
        Prompt(name=SURFACE_PROMPT, title="How to use the tools", description="Rules for calling the tools well")
    ]
    prompts += [
        Prompt(
            name=agent.name,
            description=agent.summary,
            arguments=[PromptArgument(name=TASK, description="What the agent should do", required=False)],
        )
        for agent in _list_agents(call)
    ]
    return ListPromptsResult(prompts=prompts, ttl_ms=TTL_MS, cache_scope="private")


def get_prompt(call: McpCall, name: str, arguments: dict[str, str]) -> GetPromptResult:
    """Return a prompt as the message of a user. Raises MCPError for an unknown one."""
    if name == SURFACE_PROMPT:
        return _build_result("How to use the tools", tool_list.build_prompt(call, call.load_catalog()))
    agents = {agent.name: agent for agent in _list_agents(call)}
    if name not in agents:
        raise build_unknown_error("prompt", name, english.find_similar(name, [SURFACE_PROMPT, *agents]))
    parts = (agents[name].system_prompt, arguments.get(TASK, ""))
    return _build_result(agents[name].summary, "\n\n".join(part for part in parts if part))


def _list_agents(call: McpCall) -> list[CatalogAgent]:
    """Return the agents whose prompts the caller can read: callers that run models."""
    visibility = call.caller.visibility
    if not visibility.has_scope(answers.PROMPT_SCOPE):
        return []
    return answers.list_visible_agents(call.load_catalog(), visibility)


def _build_result(description: str, text: str) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=description, messages=[message])


def build_server(source: CallerSource, *, instructions: str = "") -> Server[Any]:
    """Return a server for the messages of one source. It is made for each request, which takes 20 µs."""
    handlers = _Handlers(source)
    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        title=TITLE,
        instructions=instructions or None,
        get_tool_input_schema=lambda _: None,  # no tool takes an argument from a header
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    server.middleware.clear()  # it makes spans for an OpenTelemetry exporter, which is not installed
    return server


def build_instructions(call: McpCall) -> str:
    """Return what a client tells its model about the server. Raises GatewayError, cache.NoLiveRelease."""
    catalog = call.load_catalog()
    purpose = tool_list.describe_groups(catalog, call.caller.visibility)
    return tool_list.build_instructions(purpose, tool_list.build_prompt(call, catalog))


class _Handlers:
    """The methods of a server, each for one message."""

    def __init__(self, source: CallerSource) -> None:
        self._source = source

    async def list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return await self._answer(tool_list.list_tools)

    async def list_resources(self, _: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        return await self._answer(resources.list_resources)

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return await self._answer(resources.list_templates)

    async def read_resource(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await self._answer(lambda call: resources.read_resource(call, params.uri))

    async def list_prompts(self, _: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return await self._answer(list_prompts)

    async def get_prompt(self, _: Context, params: GetPromptRequestParams) -> GetPromptResult:
        return await self._answer(lambda call: get_prompt(call, params.name, params.arguments or {}))

    async def complete(self, _: Context, params: CompleteRequestParams) -> CompleteResult:
        return await self._answer(lambda call: complete_path(call, params))

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        watcher = ClientWatcher(context.session) if self._source.can_report else None
        can_ask = agreement.can_ask(context.session.client_capabilities)
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        answer = await self._run_tool(params, watcher)
        if answer.confirmation is not None and can_ask:
            if is_modern:
                return agreement.request_input(answer.confirmation, params.name)
            if context.session.can_send_request:
                answer = await self._ask_to_agree(context, params, answer.confirmation, watcher)
        rounds = 0
        while answer.question_token:
            can_show = user_questions.can_show(context.session.client_capabilities, answer.questions)
            if can_show and is_modern:
                return user_questions.request_input(answer.questions, answer.question_token)
            if not can_show or not context.session.can_send_request or rounds == user_questions.MAX_ROUNDS:
                return _to_result(answer, can_show=False)
            answers = await user_questions.ask_each(context.session, answer.questions)
            answer = await self._run_tool(params, watcher, answers=answers, token=answer.question_token)
            rounds += 1
        return _to_result(answer)

    async def _ask_to_agree(
        self,
        context: Context,
        params: CallToolRequestParams,
        confirmation: dict[str, Any],
        watcher: ClientWatcher | None,
    ) -> ToolAnswer:
        """Ask the user over a connection that carries requests of the server, then run the call or refuse it."""
        question: ElicitRequestFormParams = agreement.build_question(confirmation, params.name)
        result = await context.session.elicit_form(question.message, question.requested_schema)
        reply = agreement.Agreement(agreement.has_agreed(result), confirmation["token"])
        return await self._run_tool(params, watcher, reply=reply)

    async def _run_tool(
        self,
        params: CallToolRequestParams,
        watcher: ClientWatcher | None,
        *,
        reply: agreement.Agreement | None = None,
        answers: Mapping[str, UserAnswer] | None = None,
        token: str = "",
    ) -> ToolAnswer:
        """Run the tool of a call. Answers are those that the call carries, unless they are given."""
        if answers is None:
            answers, token = user_questions.read_answers(params), user_questions.get_token(params)
        reply = reply or (None if token else agreement.read_response(params))

        def run() -> Awaitable[ToolAnswer]:
            return self._source.run(
                lambda: trace_call(params, lambda: self._call_tool(params, reply, answers, token, watcher))
            )

        return await (watcher.follow(run) if watcher else run())

    def _call_tool(
        self,
        params: CallToolRequestParams,
        reply: agreement.Agreement | None,
        answers: Mapping[str, UserAnswer],
        token: str,
        watcher: ClientWatcher | None,
    ) -> ToolAnswer:
        arguments = params.arguments or {}
        try:
            self._source.check_arguments(arguments)
            call = replace(self._source.open_call(), watcher=watcher)
        except (GatewayError, Throttled) as error:
            return tool_calls.answer_failure(self._source.open_unchecked(), params.name, arguments, error)
        if reply is not None and not reply.has_agreed:
            return tool_calls.refuse_call(call, params.name, arguments, agreement.build_declined_error())
        confirmation = reply.token if reply else ""
        try:
            return tool_calls.call_tool(
                call, params.name, arguments, confirmation=confirmation, answers=answers, token=token
            )
        except GatewayError as error:
            if error.reason == input_answers.INVALID_ANSWER:
                return tool_calls.ask_again(call, params.name, arguments, error, token)
            raise to_mcp_error(error, trace_id=call.trace.id) from None

    async def _answer(self, handle: Callable[[McpCall], T]) -> T:
        def answer() -> T:
            try:
                return handle(self._source.open_call())
            except MCPError:
                raise
            except Exception as error:
                raise to_mcp_error(error, trace_id=self._source.open_unchecked().trace.id) from None

        return await self._source.run(answer)


def trace_call(params: CallToolRequestParams, run: Callable[[], ToolAnswer]) -> ToolAnswer:
    """Run a call of a tool in a span, which goes on with the trace in the call's `_meta`."""
    name, meta = params.name[:200], params.meta or {}
    attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": name}
    parent = str(meta.get(tracing.HEADER) or "")
    with tracing.start_span(f"tools/call {name}", "server", attributes, parent=parent) as span:
        answer = run()
        if answer.is_error:
            span.fail(answer.body["error"]["details"]["reason"])
        return answer


def _to_result(answer: ToolAnswer, *, can_show: bool = True) -> CallToolResult:
    body = answer.body if can_show else user_questions.hide_token(answer.body)
    body = user_questions.hide_tokens(body)
    content: list[ContentBlock] = [TextContent(type="text", text=json_text.dump(body).decode())]
    if answer.hint:
        content.append(TextContent(type="text", text=answer.hint))
    return CallToolResult(content=content, structured_content=body, is_error=answer.is_error)
