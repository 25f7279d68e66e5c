"""The rows of the SWE-bench 5 style format as parquet alone, with lists as lists, and the card."""

from swequarry.export.columns import RowForm
from swequarry.export.interface import Exporter
from swequarry.export.swebench import SwebenchExporter

EXPORTER: Exporter = SwebenchExporter(name="parquet", forms=(RowForm.LISTS,), json_lines=False)
"""Every format's module offers its exporter under this name."""
