"""Logs in: readers, the jobs and events tables, attribution, exposure, the failure table.

``read`` finds out what a file is and reads it (`meantime.datasets.formats` lists what it knows); ``to_table`` makes a
failure table of whatever was read, ``failure_table`` counts failures and node-days of jobs; ``summarise`` describes a
log. `measure_runs` measures runs, `goodput` a cluster, `read_training` training logs; `check_quality` says what is odd
about a log. `meantime.datasets.published` has figures of publications as failure tables,
`meantime.datasets.simulate` clusters with a known truth.
"""

from meantime.datasets.attribution import attribute as attribute
from meantime.datasets.calendar import calendar_exposure as calendar_exposure
from meantime.datasets.counts import failure_table_from_counts as failure_table_from_counts
from meantime.datasets.counts import read_counts as read_counts
from meantime.datasets.describe import describe as describe
from meantime.datasets.detect import FORMATS as FORMATS
from meantime.datasets.detect import read as read
from meantime.datasets.detect import to_table as to_table
from meantime.datasets.documents import runs_document as runs_document
from meantime.datasets.documents import sensitivity_document as sensitivity_document
from meantime.datasets.documents import training_document as training_document
from meantime.datasets.exposure import busy_exposure as busy_exposure
from meantime.datasets.failure_table import failure_table as failure_table
from meantime.datasets.goodput import goodput as goodput
from meantime.datasets.incident_table import check_incidents as check_incidents
from meantime.datasets.incident_table import incident_table as incident_table
from meantime.datasets.inventory import read_inventory as read_inventory
from meantime.datasets.large import is_large as is_large
from meantime.datasets.large import scan_parquet as scan_parquet
from meantime.datasets.ledger import attempt_ledger as attempt_ledger
from meantime.datasets.ledger import measure_runs as measure_runs
from meantime.datasets.lives import lives_table as lives_table
from meantime.datasets.log import Log as Log
from meantime.datasets.mapping import TableMapping as TableMapping
from meantime.datasets.mapping import load_mapping as load_mapping
from meantime.datasets.mapping import save_mapping as save_mapping
from meantime.datasets.nodes import FAILURE_SIGNALS as FAILURE_SIGNALS
from meantime.datasets.nodes import LEMON_SIGNALS as LEMON_SIGNALS
from meantime.datasets.nodes import check_nodes as check_nodes
from meantime.datasets.nodes import with_signals as with_signals
from meantime.datasets.outage_periods import outage_periods as outage_periods
from meantime.datasets.outages import hit_probability as hit_probability
from meantime.datasets.outages import incidents as incidents
from meantime.datasets.outages import outage_table as outage_table
from meantime.datasets.quality import check_quality as check_quality
from meantime.datasets.repairs import repair_table as repair_table
from meantime.datasets.repairs import repairs_from_arrays as repairs_from_arrays
from meantime.datasets.runs import stitch_runs as stitch_runs
from meantime.datasets.sacct import read_sacct as read_sacct
from meantime.datasets.sensitivity import score_attribution as score_attribution
from meantime.datasets.sensitivity import sensitivity as sensitivity
from meantime.datasets.summary import summarise as summarise
from meantime.datasets.survival import compress_lives as compress_lives
from meantime.datasets.survival import power_sum_bound as power_sum_bound
from meantime.datasets.survival import survival_table as survival_table
from meantime.datasets.table import build_table as build_table
from meantime.datasets.table import check_table as check_table
from meantime.datasets.tabular import read_events as read_events
from meantime.datasets.tabular import read_table as read_table
from meantime.datasets.taxonomy import Component as Component
from meantime.datasets.taxonomy import load_components as load_components
from meantime.datasets.taxonomy import taxonomy as taxonomy
from meantime.datasets.training import TrainingLog as TrainingLog
from meantime.datasets.training import TrainingSamples as TrainingSamples
from meantime.datasets.training import read_training as read_training
from meantime.datasets.training import training_samples as training_samples
from meantime.datasets.training_ledger import training_ledger as training_ledger
from meantime.datasets.xids import xid_table as xid_table

__all__ = [
    "FAILURE_SIGNALS",
    "FORMATS",
    "LEMON_SIGNALS",
    "Component",
    "Log",
    "TableMapping",
    "TrainingLog",
    "TrainingSamples",
    "attempt_ledger",
    "attribute",
    "build_table",
    "busy_exposure",
    "calendar_exposure",
    "check_incidents",
    "check_nodes",
    "check_quality",
    "check_table",
    "compress_lives",
    "describe",
    "failure_table",
    "failure_table_from_counts",
    "goodput",
    "hit_probability",
    "incident_table",
    "incidents",
    "is_large",
    "lives_table",
    "load_components",
    "load_mapping",
    "measure_runs",
    "outage_periods",
    "outage_table",
    "power_sum_bound",
    "read",
    "read_counts",
    "read_events",
    "read_inventory",
    "read_sacct",
    "read_table",
    "read_training",
    "repair_table",
    "repairs_from_arrays",
    "runs_document",
    "save_mapping",
    "scan_parquet",
    "score_attribution",
    "sensitivity",
    "sensitivity_document",
    "stitch_runs",
    "summarise",
    "survival_table",
    "taxonomy",
    "to_table",
    "training_document",
    "training_ledger",
    "training_samples",
    "with_signals",
    "xid_table",
]
