"""Reports of fits that are not of failures by node-days: lives of parts, repairs, incidents."""

from meantime.report.parts.page import PartsPage, parts_page

__all__ = ["PartsPage", "parts_page"]
