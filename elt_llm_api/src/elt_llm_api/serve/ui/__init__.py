"""The browser user interface. It is built with Gradio (extra `ui`), which is imported on the first visit."""
