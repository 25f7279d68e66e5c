"""The funnel and the report page."""
