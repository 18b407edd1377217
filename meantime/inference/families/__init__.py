"""What inference knows of each model: geometry, exact completion, likelihood, prediction."""

from meantime.inference.families.component import COMPONENT
from meantime.inference.families.component_gamma import COMPONENT_GAMMA
from meantime.inference.families.component_size import COMPONENT_SIZE
from meantime.inference.families.constant import CONSTANT
from meantime.inference.families.family import NEW as NEW
from meantime.inference.families.family import Family as Family
from meantime.inference.families.incident import INCIDENT
from meantime.inference.families.lifetime import LIFETIME, LIFETIME_STEPS
from meantime.inference.families.node_frailty import NODE_FRAILTY
from meantime.inference.families.over_time import OVER_TIME
from meantime.inference.families.repair import REPAIR
from meantime.inference.families.repair_tail import REPAIR_TAIL

FAMILIES: dict[str, Family] = {
    "constant": CONSTANT,
    "component": COMPONENT,
    "component_gamma": COMPONENT_GAMMA,
    "component_size": COMPONENT_SIZE,
    "node_frailty": NODE_FRAILTY,
    "incident": INCIDENT,
    "over_time": OVER_TIME,
    "lifetime": LIFETIME,
    "lifetime_steps": LIFETIME_STEPS,
    "repair": REPAIR,
    "repair_tail": REPAIR_TAIL,
}
