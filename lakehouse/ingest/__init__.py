"""Ingest: files of rows become tuples of a stream, in the order in which they arrived.

What cannot be a tuple goes to the quarantine with its file, line and reason. The archive's Delta log says
which contents are in, so that none enters twice and a killed ingest leaves nothing half.
"""

from lakehouse.ingest.report import FileReport, IngestReport
from lakehouse.ingest.run import ingest

__all__ = ["FileReport", "IngestReport", "ingest"]
