"""The planner page: a fit as one offline HTML file with sliders."""

from meantime.report.planner.page import write_planner

__all__ = ["write_planner"]
