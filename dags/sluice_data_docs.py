"""Data Docs: `sluice check` writes them into the lakehouse; this puts them where people read."""

from __future__ import annotations

import logging
import os

log = logging.getLogger(__name__)


def publish(lakehouse: str) -> str:
    """The site's first page: in the lakehouse, or copied to SLUICE_DATA_DOCS (a path or a URI)."""
    from airflow.sdk import ObjectStoragePath
    from airflow.sdk.exceptions import AirflowSkipException

    site = ObjectStoragePath(f"{lakehouse}/quality/data_docs")
    if not (site / "index.html").exists():
        raise AirflowSkipException(f"No check has written Data Docs to {site} yet.")
    target = os.environ.get("SLUICE_DATA_DOCS")
    if target:
        site = _copy(site, ObjectStoragePath(target.rstrip("/")))
    page = str(site / "index.html")
    log.info("Data Docs: %s", page)
    return page


def _copy(site, target):  # type: ignore[no-untyped-def]
    """`target`, with every page of `site`. The index comes last: what it lists is then there."""
    pages = [page for page in site.rglob("*") if page.is_file()]
    for page in sorted(pages, key=lambda page: page == site / "index.html"):
        copy = target / page.relative_to(site)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(page.read_bytes())
    return target
