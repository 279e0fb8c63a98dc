"""Examine a page for barriers with axe-core."""

import lzma
from typing import Any

from playwright.sync_api import Page
from processes.command_line import PROJECT

AXE = PROJECT / "tests" / "fixtures" / "axe-core-4.14.1.js.xz"
SERIOUS = {"serious", "critical"}
PHONE, WINDOW = (390, 844), (1440, 900)


def serious_issues(page: Page) -> list[str]:
    """Return the serious and critical issues of a page with their elements, at desktop and at phone width."""
    page.evaluate(lzma.decompress(AXE.read_bytes()).decode("utf-8"))
    issues = []
    for width, height in (WINDOW, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        issues += [
            f"{width} wide: {one['id']}: {node['html'][:160]}"
            for one in found["violations"]
            if one["impact"] in SERIOUS
            for node in one["nodes"]
        ]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            issues.append(f"{width} wide: the page scrolls sideways")
    return issues
