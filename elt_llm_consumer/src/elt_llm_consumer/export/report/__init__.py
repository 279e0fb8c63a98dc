"""Files of the report page: template, style and script."""
