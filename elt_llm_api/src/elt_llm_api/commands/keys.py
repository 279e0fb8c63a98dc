"""`elt-llm keys`: who may ask the server, and what they may read and write."""

from elt_llm_api.lazy_group import CommandEntry, LazyGroup

_ENTRIES = (
    CommandEntry("add", "elt_llm_api.commands.keys_add", "Make a key and print its secret, once."),
    CommandEntry("list", "elt_llm_api.commands.keys_list", "Which keys there are, and what each allows."),
    CommandEntry("revoke", "elt_llm_api.commands.keys_revoke", "Forget a key; it is refused from then on."),
)
command = LazyGroup("keys", _ENTRIES, help="Keys that callers of the server show, and what each allows.")
