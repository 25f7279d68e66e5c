"""SWE-bench 5 style rows; the format is described in `swequarry.export.swebench`."""

from swequarry.export.interface import Exporter
from swequarry.export.swebench import SwebenchExporter

EXPORTER: Exporter = SwebenchExporter()
"""Every format's module offers its exporter under this name."""
