"""Readers of the formats that other tools and publishers write, one file a format.

Each says in its text which command or download makes its input. `meantime.datasets.formats` lists them, and
`meantime.datasets.read` chooses among them.
"""

from meantime.datasets.readers.acme import read_acme as read_acme
from meantime.datasets.readers.backblaze import read_backblaze as read_backblaze
from meantime.datasets.readers.bloom import bloom_table as bloom_table
from meantime.datasets.readers.bloom import read_bloom as read_bloom
from meantime.datasets.readers.dcgm import read_dcgm as read_dcgm
from meantime.datasets.readers.gcm_checks import read_gcm_checks as read_gcm_checks
from meantime.datasets.readers.gcm_jobs import read_gcm_jobs as read_gcm_jobs
from meantime.datasets.readers.helios import read_helios as read_helios
from meantime.datasets.readers.helios import read_helios_gpus as read_helios_gpus
from meantime.datasets.readers.kernel_log import read_kernel_log as read_kernel_log
from meantime.datasets.readers.kubernetes import read_kubernetes as read_kubernetes
from meantime.datasets.readers.kubernetes_events import read_kubernetes_events as read_kubernetes_events
from meantime.datasets.readers.lanl import read_lanl as read_lanl
from meantime.datasets.readers.lanl_nodes import lanl_systems as lanl_systems
from meantime.datasets.readers.lanl_nodes import lanl_table as lanl_table
from meantime.datasets.readers.nvidia_smi import read_nvidia_smi as read_nvidia_smi
from meantime.datasets.readers.openb import read_openb as read_openb
from meantime.datasets.readers.pai import read_pai as read_pai
from meantime.datasets.readers.philly import read_philly as read_philly
from meantime.datasets.readers.sacct_json import read_sacct_json as read_sacct_json
from meantime.datasets.readers.swf import read_swf as read_swf
from meantime.datasets.readers.titan import read_titan as read_titan

__all__ = [
    "bloom_table",
    "lanl_systems",
    "lanl_table",
    "read_acme",
    "read_backblaze",
    "read_bloom",
    "read_dcgm",
    "read_gcm_checks",
    "read_gcm_jobs",
    "read_helios",
    "read_helios_gpus",
    "read_kernel_log",
    "read_kubernetes",
    "read_kubernetes_events",
    "read_lanl",
    "read_nvidia_smi",
    "read_openb",
    "read_pai",
    "read_philly",
    "read_sacct_json",
    "read_swf",
    "read_titan",
]
