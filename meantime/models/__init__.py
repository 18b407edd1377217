"""Probability models: each a function from a failure table and frozen priors to a PyMC model.

Nothing here samples. PyMC itself is imported when a model is built.
"""

from meantime.models.component import ComponentPriors as ComponentPriors
from meantime.models.component import component as component
from meantime.models.component_gamma import ComponentGammaPriors as ComponentGammaPriors
from meantime.models.component_gamma import component_gamma as component_gamma
from meantime.models.component_size import ComponentSizePriors as ComponentSizePriors
from meantime.models.component_size import component_size as component_size
from meantime.models.constant import ConstantPriors as ConstantPriors
from meantime.models.constant import constant as constant
from meantime.models.grid import MIN_CELL_VARIANCE as MIN_CELL_VARIANCE
from meantime.models.grid import REFERENCE_GPUS as REFERENCE_GPUS
from meantime.models.grid import Grid as Grid
from meantime.models.grid import grid_of as grid_of
from meantime.models.incident import IncidentPriors as IncidentPriors
from meantime.models.incident import incident as incident
from meantime.models.incident import size_shares as size_shares
from meantime.models.incident_grid import IncidentGrid as IncidentGrid
from meantime.models.incident_grid import incident_grid_of as incident_grid_of
from meantime.models.layout import Layout as Layout
from meantime.models.lifetime import LifetimePriors as LifetimePriors
from meantime.models.lifetime import LifetimeStepsPriors as LifetimeStepsPriors
from meantime.models.lifetime import lifetime as lifetime
from meantime.models.lifetime import lifetime_steps as lifetime_steps
from meantime.models.node_frailty import NodeFrailtyPriors as NodeFrailtyPriors
from meantime.models.node_frailty import node_frailty as node_frailty
from meantime.models.nodes import Nodes as Nodes
from meantime.models.nodes import nodes_of as nodes_of
from meantime.models.over_time import CHANGE_SPREAD as CHANGE_SPREAD
from meantime.models.over_time import OverTimePriors as OverTimePriors
from meantime.models.over_time import over_time as over_time
from meantime.models.registry import MODELS as MODELS
from meantime.models.registry import ModelEntry as ModelEntry
from meantime.models.registry import model_entry as model_entry
from meantime.models.registry import priors_for as priors_for
from meantime.models.repair import REPAIR_MODELS as REPAIR_MODELS
from meantime.models.repair import RepairPriors as RepairPriors
from meantime.models.repair import repair as repair
from meantime.models.repair_tail import RepairTailPriors as RepairTailPriors
from meantime.models.repair_tail import repair_tail as repair_tail
from meantime.models.time_grid import DAYS_PER_YEAR as DAYS_PER_YEAR
from meantime.models.time_grid import TimeGrid as TimeGrid
from meantime.models.time_grid import time_grid_of as time_grid_of

__all__ = [
    "CHANGE_SPREAD",
    "DAYS_PER_YEAR",
    "MIN_CELL_VARIANCE",
    "MODELS",
    "REFERENCE_GPUS",
    "REPAIR_MODELS",
    "ComponentGammaPriors",
    "ComponentPriors",
    "ComponentSizePriors",
    "ConstantPriors",
    "Grid",
    "IncidentGrid",
    "IncidentPriors",
    "Layout",
    "LifetimePriors",
    "LifetimeStepsPriors",
    "ModelEntry",
    "NodeFrailtyPriors",
    "Nodes",
    "OverTimePriors",
    "RepairPriors",
    "RepairTailPriors",
    "TimeGrid",
    "component",
    "component_gamma",
    "component_size",
    "constant",
    "grid_of",
    "incident",
    "incident_grid_of",
    "lifetime",
    "lifetime_steps",
    "model_entry",
    "node_frailty",
    "nodes_of",
    "over_time",
    "priors_for",
    "repair",
    "repair_tail",
    "size_shares",
    "time_grid_of",
]
