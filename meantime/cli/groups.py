"""Groups of options: one object in the code of a command, single options on its command line."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any


def spread[R](command: Callable[..., R]) -> Callable[..., R]:
    """Let a command be called with the fields of its groups in place of the groups.

    Parameters
    ----------
    command
        A function some of whose parameters are annotated with a dataclass: a group of options.

    Returns
    -------
    Callable
        A function of the same name that takes every field of a group as a parameter of its own, where the group
        stood, and that typer reads as such.
    """
    given = inspect.signature(command, eval_str=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in given.parameters.values():
        fields = [parameter]
        if isinstance(parameter.annotation, type) and dataclasses.is_dataclass(parameter.annotation):
            fields = list(inspect.signature(parameter.annotation, eval_str=True).parameters.values())
            groups[parameter.name] = (parameter.annotation, [field.name for field in fields])
        parameters += [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in fields]

    def with_options(**values: Any) -> R:
        for name, (group, names) in groups.items():
            values[name] = group(**{field: values.pop(field) for field in names if field in values})
        return command(**values)

    shown: Any = functools.update_wrapper(with_options, command)
    del shown.__wrapped__  # or its parameters would be taken for these
    shown.__signature__ = given.replace(parameters=parameters)
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options
