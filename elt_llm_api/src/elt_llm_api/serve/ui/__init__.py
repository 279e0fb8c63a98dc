"""The browser user interface, built with Gradio (extra `ui`), which is imported on the first visit."""
