"""The frame of the user interface: one tab for each thing that can be done.

What tabs must heed: pages run no script that is made of text (the policy in pages.py), so there is no `gr.HTML`, no
`js=` and no `head=`; HTML of ours is shown by `gr.Markdown(..., latex_delimiters=[])`, which sanitises it once more.
Every control has a label. Handlers are not part of a programming interface: `api_visibility="private"`; and they go
through the queue, for other ways to call them are shut (mounting.py): no `queue=False`.
"""

from importlib import import_module

import gradio as gr

from elt_llm_api.serve.services import Services

TABS = (("Ask", "ask"), ("Inspect", "inspect"), ("Documents", "documents"), ("Jobs", "jobs"), ("Health", "health"))
"""Names as shown, and the modules beside this one that build them: each has `build(services)`."""


def build_blocks(services: Services) -> gr.Blocks:
    """All tabs, each built by its module."""
    blocks = gr.Blocks(title="elt-llm", analytics_enabled=False, fill_width=True)
    with blocks, gr.Tabs(elem_id="tabs"):
        for title, name in TABS:
            with gr.Tab(title, id=name, elem_id=f"tab-{name}"):
                import_module(f"elt_llm_api.serve.ui.{name}").build(services)
    return blocks
