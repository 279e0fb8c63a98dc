"""Turn functions into MCP tools: the call they receive, shared arguments, permissions, errors and results."""

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

from elt_llm_core.errors import EltError
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.tree import StrategyName
from elt_llm_core.utilities import nearest_names
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import Request

from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.questions import LONGEST_QUESTION, CollectionNames
from elt_llm_api.serve.asgi import PRINCIPAL
from elt_llm_api.serve.errors import mistake_message
from elt_llm_api.serve.jobs.kinds import NAME
from elt_llm_api.serve.services import Services

P = ParamSpec("P")
T = TypeVar("T")
AnyContext = Context[Any, Any]
_MOST_MISTAKES, _LONGEST_NAME = 5, 100  # mistakes that an error reports; characters of an argument's name in it
_ROUTE = re.compile(r"(?:GET|POST) /v1/[a-z-]+/?")
_TOOL_OF_ROUTE = {
    "GET /v1/batch-jobs": "the tool list_jobs",
    "GET /v1/jobs": "run_job, reindex and ingest_path return their ids",
    "POST /v1/ingest": "the tool reindex",
}
_COMMAND = re.compile(r"Run: | --[a-z]|elt-llm [a-z]")
GetPrincipal = Callable[[AnyContext], Principal]
"""A function that returns the caller of a tool, given the context of the call. It may raise Forbidden."""
ToolFactory = Callable[[Services, GetPrincipal], Tool]
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""Marks a tool that changes nothing and reads only ingested documents."""
QUEUES_WORK = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
"""Marks a tool that queues work. Earlier generations are kept, so that a rollback is possible."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool: the services of the server, the caller, and the library's context of the call."""

    services: Services
    principal: Principal
    context: AnyContext

    async def run(self, function: Callable[[], T]) -> T:
        """Run a blocking function in a worker thread, within the server's limits. Raises ServerOverloaded."""
        return await self.services.workers.run(lambda _: function())


def local_principal(_: AnyContext) -> Principal:
    """Return the local user, who started the process and has every permission."""
    return LOCAL


def principal_of_context(context: AnyContext) -> Principal:
    """Return the sender of the request, whom the middleware has authenticated. Raises Forbidden."""
    request = context.request_context.request
    principal = request.scope.get(PRINCIPAL) if isinstance(request, Request) else None
    if not isinstance(principal, Principal):
        raise Forbidden("The caller is unknown.", hint="Call over HTTP, with a key where the server requires one.")
    return principal


CollectionName = Annotated[str, Field(min_length=1, max_length=63, description="Name of a collection.")]
DocumentName = Annotated[
    str, Field(min_length=1, max_length=4000, description="A document: its id, path, file name or title.")
]
JobName = Annotated[
    str, Field(min_length=1, max_length=100, pattern=NAME, description="Name of a job file of the server, no path.")
]


@dataclass(frozen=True)
class QuestionArguments:
    """The arguments of every question: the question, the documents to search, and the profile."""

    question: Annotated[
        str, Field(min_length=1, max_length=LONGEST_QUESTION, description="The question, in words, in any language.")
    ]
    collections: CollectionNames = ()
    prefixes: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        Field(max_length=50, description="Also search the collections whose names start with one of these."),
    ] = ()
    profile: Annotated[
        str, Field(max_length=200, description="A profile: default, classic, fast, thorough, or one of your own.")
    ] = "default"
    where: Annotated[
        tuple[Annotated[str, Field(max_length=500)], ...],
        Field(
            max_length=50, description="Conditions on metadata, such as year>=2020 or organisations=Board; all hold."
        ),
    ] = ()
    strategy: Annotated[
        StrategyName | None, Field(description="How to search; unset: that of the profile, which is best for most.")
    ] = None


def require_ingest_permission(loaded: LoadedSettings) -> None:
    """Raise Forbidden unless `serve.agents_may_ingest` is set and `ingest.roots` names folders.

    Ingested text influences later answers, and documents that an agent reads may instruct the agent to ingest more
    files.
    """
    if not loaded.settings.serve.agents_may_ingest:
        raise Forbidden(
            "Agents may not ingest here.", hint="The operator of the server can set serve.agents_may_ingest: true."
        )
    if not loaded.settings.ingest.roots:
        raise Forbidden(
            "Agents may not ingest here: no folder is allowed.",
            hint="The operator of the server can list folders in ingest.roots.",
        )


def mcp_tool(
    title: str, annotations: ToolAnnotations = READ_ONLY
) -> Callable[[Callable[Concatenate[ToolCall, P], Awaitable[CallToolResult]]], ToolFactory]:
    """Declare a function as an MCP tool. Its docstring becomes the description; arguments and result become schemas.

    A single dataclass parameter is replaced by its fields, so that several tools can share arguments. An unknown
    argument is an error, because a client would assume that an ignored argument had an effect.
    """

    def declare(function: Callable[Concatenate[ToolCall, P], Awaitable[CallToolResult]]) -> ToolFactory:
        signature = inspect.signature(function)
        call, *parameters = signature.parameters.values()
        shared = next((one.annotation for one in parameters if is_dataclass(one.annotation)), None)
        fields = inspect.signature(shared).parameters.values() if shared else parameters  # type: ignore[arg-type]
        context = call.replace(name="context", annotation=AnyContext)

        def create(services: Services, get_principal: GetPrincipal) -> Tool:
            @functools.wraps(function)
            async def run(context: AnyContext, **values: Any) -> CallToolResult:
                arguments: dict[str, Any] = {parameters[0].name: shared(**values)} if shared else values  # type: ignore[operator]
                try:
                    return await function(ToolCall(services, get_principal(context), context), **arguments)  # type: ignore[call-arg]
                except EltError as error:
                    raise ToolError(error_text(error)) from error

            vars(run)["__signature__"] = signature.replace(parameters=[context, *fields])
            return _strict_tool(run, title, annotations)

        return create

    return declare


class ToolWithSentences(Tool):
    """A tool that reports invalid arguments in sentences, so that a model can read and correct them."""

    async def run(self, arguments: dict[str, Any], context: AnyContext, convert_result: bool = False) -> Any:
        """Run the tool. Raises ToolError with a sentence on each of the first invalid arguments."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            known, mistakes = list(self.parameters["properties"]), error.errors(include_url=False)[:_MOST_MISTAKES]
            raise ToolError(" ".join(_mistake(one, known) for one in mistakes)) from error
        return await super().run(arguments, context, convert_result)


def _mistake(mistake: ErrorDetails, known: Sequence[str]) -> str:
    """Return a sentence on an invalid argument; `known` are the names of all arguments."""
    name = ".".join(map(str, mistake["loc"]))[:_LONGEST_NAME]
    if mistake["type"] == "missing":
        return f"The argument '{name}' is missing."
    if mistake["type"] == "extra_forbidden":
        return f"There is no argument '{name}'. {nearest_names(name, known)}".strip()
    message = mistake_message(mistake)
    return f"The argument '{name}' is invalid: {message[:1].lower()}{message[1:]}."


def _strict_tool(function: Callable[..., Any], title: str, annotations: ToolAnnotations) -> Tool:
    tool = ToolWithSentences.from_function(
        function,
        title=title,
        description=inspect.getdoc(function),
        context_kwarg="context",
        annotations=annotations,
        structured_output=True,
    )
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": arguments.model_json_schema(by_alias=True)})


def tool_result(text: str, structured: BaseModel) -> CallToolResult:
    """Return a result in two forms: a short text for models, and the complete data for programs."""
    values: dict[str, Any] = structured.model_dump(mode="json", by_alias=True)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=values)


def error_text(error: EltError) -> str:
    """Return the message of an error and its hint, in which tools replace routes and commands are the operator's."""
    return f"{error} {for_agents(error.hint)}".strip()


def for_agents(text: str) -> str:
    """Return a hint or note with the tool in place of an HTTP route, and with the operator as who can run a command."""
    named = _ROUTE.sub(lambda route: _TOOL_OF_ROUTE.get(route[0].rstrip("/"), route[0]), text)
    if named != text or not _COMMAND.search(text):
        return named
    operator = "The operator of the server can run: "
    return text.replace("Run: ", operator) if "Run: " in text else f"For the operator of the server: {text}"
