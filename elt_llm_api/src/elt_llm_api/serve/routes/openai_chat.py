"""`/v1/chat/completions`: answers with citations for OpenAI's clients, whole or as they are made."""

from fastapi import APIRouter, Request

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.asking import Asking, AskRequest
from elt_llm_api.serve.actions.chat_requests import conversation, not_used, refuse_unsupported
from elt_llm_api.serve.actions.model_names import ModelNames
from elt_llm_api.serve.asgi import REQUEST_ID
from elt_llm_api.serve.routes.asking import first_of
from elt_llm_api.serve.routes.event_streams import HEARTBEAT, STREAMED, event_stream
from elt_llm_api.serve.routes.given import Caller, GivenServices
from elt_llm_api.serve.routes.leaving import while_waited_for
from elt_llm_api.serve.routes.openai_errors import OPENAI_ERRORS, OpenAiRoute
from elt_llm_api.serve.routes.openai_shapes import ChatAnswer, ChatRequest
from elt_llm_api.serve.routes.openai_stream import ChatStream
from elt_llm_api.serve.routes.openai_telling import Telling
from elt_llm_api.serve.services import Services

router = APIRouter(prefix="/v1/chat", tags=["openai"], route_class=OpenAiRoute, responses=OPENAI_ERRORS)


@router.post("/completions", responses=STREAMED)
async def create_chat_completion(
    asked: ChatRequest, request: Request, services: GivenServices, caller: Caller
) -> ChatAnswer:
    """Answer the last message from the documents; earlier ones say what a follow-up is about, and nothing is kept.

    Citations are annotations of the message, a list beside it, and footnotes in its text, as `citations` says.
    System messages are refused, unless `system` says to ignore them; so are tools, several choices and logprobs.
    """
    question, notes = question_of(asked, services, caller)
    asking, request_id = Asking(services), request.scope.get(REQUEST_ID, "")
    told = Telling(asked, request_id, tuple(notes))
    if not asked.stream:
        result = await while_waited_for(request, asking.ask(caller, question, request_id))
        return told.whole(result)
    events = asking.stream(caller, question, request_id, silence=HEARTBEAT)
    stream = ChatStream(told, await first_of(request, events), events)
    return event_stream(stream.frames())  # type: ignore[return-value]  # as described


def question_of(asked: ChatRequest, services: Services, caller: Principal) -> tuple[AskRequest, list[str]]:
    """The question that a chat asks, and what is to be told of its parameters. Raises NotThere, UsageError."""
    extra = asked.model_extra or {}
    refuse_unsupported(extra)
    model = ModelNames(services).find(caller, asked.model)
    text, said = conversation(asked.messages, ignore_system=asked.system == "ignore")
    question = AskRequest(
        question=text,
        collections=model.collections,
        profile=model.profile,
        where=asked.where,
        strategy=asked.strategy,
        history=said,
    )
    return question, not_used(extra)
