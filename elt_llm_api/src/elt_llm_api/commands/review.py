"""`elt-llm review`: what reviewers said of rows that jobs wrote."""

from elt_llm_api.lazy_group import CommandEntry, LazyGroup

_ENTRIES = (
    CommandEntry("import", "elt_llm_api.commands.review_import", "Take reviews from a sheet that was filled in."),
    CommandEntry("status", "elt_llm_api.commands.review_status", "Which rows have which review."),
    CommandEntry("stale", "elt_llm_api.commands.review_stale", "Rows whose source text changed since."),
)
command = LazyGroup("review", _ENTRIES, help="What reviewers said of the rows that a job wrote.")
