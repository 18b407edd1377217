"""Names of the models, and how to build one from its name."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from meantime.errors import InputError
from meantime.models.component import ComponentPriors, component
from meantime.models.component_gamma import ComponentGammaPriors, component_gamma
from meantime.models.component_size import ComponentSizePriors, component_size
from meantime.models.constant import ConstantPriors, constant
from meantime.models.incident import IncidentPriors, incident
from meantime.models.lifetime import LifetimePriors, LifetimeStepsPriors, lifetime, lifetime_steps
from meantime.models.node_frailty import NodeFrailtyPriors, node_frailty
from meantime.models.over_time import OverTimePriors, over_time
from meantime.models.repair import RepairPriors, repair
from meantime.models.repair_tail import RepairTailPriors, repair_tail

if TYPE_CHECKING:
    import pymc as pm


class ModelEntry(NamedTuple):
    """A model: its builder ``(table, priors) -> pm.Model`` and the class of its priors."""

    build: Callable[..., "pm.Model"]
    priors: type[Any]


MODELS: dict[str, ModelEntry] = {
    "constant": ModelEntry(constant, ConstantPriors),
    "component": ModelEntry(component, ComponentPriors),
    "component_gamma": ModelEntry(component_gamma, ComponentGammaPriors),
    "component_size": ModelEntry(component_size, ComponentSizePriors),
    "node_frailty": ModelEntry(node_frailty, NodeFrailtyPriors),
    "incident": ModelEntry(incident, IncidentPriors),
    "over_time": ModelEntry(over_time, OverTimePriors),
    "lifetime": ModelEntry(lifetime, LifetimePriors),
    "lifetime_steps": ModelEntry(lifetime_steps, LifetimeStepsPriors),
    "repair": ModelEntry(repair, RepairPriors),
    "repair_tail": ModelEntry(repair_tail, RepairTailPriors),
}


def model_entry(name: str) -> ModelEntry:
    """Look a model up.

    Raises
    ------
    InputError
        If there is no model of that name.
    """
    if name not in MODELS:
        raise InputError(f"there is no model {name!r}; choose one of {', '.join(MODELS)}")
    return MODELS[name]


def priors_for(name: str, priors: Any = None) -> Any:
    """Return the priors of a model: as given, from a mapping of its fields, or the defaults.

    Parameters
    ----------
    name
        Name of the model.
    priors
        None, an instance of the model's priors class, or a mapping from its field names to numbers.

    Returns
    -------
    Any
        An instance of the model's priors class.

    Raises
    ------
    InputError
        If the priors belong to another model, name an unknown field or hold a value that is no positive
        finite number.
    """
    kind = model_entry(name).priors
    if priors is None:
        return kind()
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if isinstance(priors, Mapping):
        if unknown := [key for key in priors if key not in fields]:
            raise InputError(f"{name} has no prior {unknown[0]!r}; it has {', '.join(fields)}")
        priors = kind(**priors)
    if not isinstance(priors, kind):
        raise InputError(f"priors are a {type(priors).__name__}; the model {name!r} takes {kind.__name__}")
    for key, field in fields.items():
        value = getattr(priors, key)
        if value is None and type(None) in get_args(field.type):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise InputError(f"prior {key} is {value!r}; expected a positive number")
    return priors
