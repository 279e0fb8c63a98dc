"""The conversation as another program holds it: each line of input a question, each line of output a JSON document."""

from elt_llm_core.errors import EltError, UsageError

from elt_llm_api.chat.room import ChatRoom
from elt_llm_api.chat.terminal import question_lines
from elt_llm_api.render import print_json


def converse_in_json(room: ChatRoom) -> int:
    """Answer every line. Returns the exit code: 1 if one of them failed, having answered the others."""
    failed = False
    for line in question_lines():
        try:
            if line.startswith("/"):
                raise UsageError("Commands are for people.", hint="Send questions; leave out --json for commands.")
            result = room.ask(line)
        except EltError as error:
            failed = True
            told = {"type": type(error).__name__, "message": str(error), "hint": error.hint}
            print_json({"asked": line, "error": told}, indent=None)
        else:
            print_json(
                {"session": room.session_id, "asked": line, "result": result.model_dump(mode="json")}, indent=None
            )
    return int(failed)
