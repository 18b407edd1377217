"""Logs in: readers, the jobs and events tables, attribution, exposure, the failure table.

``read`` finds out what a file is and reads it (`meantime.datasets.formats` lists what it knows); ``to_table`` makes a
failure table of whatever was read, ``failure_table`` counts failures and node-days of jobs; ``summarise`` describes a
log. `meantime.datasets.published` has figures of publications as failure tables,
`meantime.datasets.simulate` clusters with a known truth.
"""

from meantime.datasets.attribution import attribute as attribute
from meantime.datasets.counts import failure_table_from_counts as failure_table_from_counts
from meantime.datasets.counts import read_counts as read_counts
from meantime.datasets.detect import FORMATS as FORMATS
from meantime.datasets.detect import read as read
from meantime.datasets.detect import to_table as to_table
from meantime.datasets.failure_table import failure_table as failure_table
from meantime.datasets.lives import lives_table as lives_table
from meantime.datasets.log import Log as Log
from meantime.datasets.mapping import TableMapping as TableMapping
from meantime.datasets.mapping import load_mapping as load_mapping
from meantime.datasets.mapping import save_mapping as save_mapping
from meantime.datasets.outages import hit_probability as hit_probability
from meantime.datasets.outages import incidents as incidents
from meantime.datasets.outages import outage_table as outage_table
from meantime.datasets.sacct import read_sacct as read_sacct
from meantime.datasets.summary import summarise as summarise
from meantime.datasets.table import build_table as build_table
from meantime.datasets.table import check_table as check_table
from meantime.datasets.tabular import read_events as read_events
from meantime.datasets.tabular import read_table as read_table
from meantime.datasets.taxonomy import Component as Component
from meantime.datasets.taxonomy import load_components as load_components
from meantime.datasets.taxonomy import taxonomy as taxonomy
from meantime.datasets.xids import xid_table as xid_table

__all__ = [
    "FORMATS",
    "Component",
    "Log",
    "TableMapping",
    "attribute",
    "build_table",
    "check_table",
    "failure_table",
    "failure_table_from_counts",
    "hit_probability",
    "incidents",
    "lives_table",
    "load_components",
    "load_mapping",
    "outage_table",
    "read",
    "read_counts",
    "read_events",
    "read_sacct",
    "read_table",
    "save_mapping",
    "summarise",
    "taxonomy",
    "to_table",
    "xid_table",
]
