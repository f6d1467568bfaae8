"""Work with optional packages: import a module when one of its names is first used, and recognise their objects."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module

from hindsight_integrations.errors import MissingDependency


def inherits(value: object, package: str, name: str) -> bool:
    """Return whether a value is an instance of a class, without importing the class's package.

    Args:
        value: any value.
        package: the package that defines the class, such as "llama_index".
        name: the class's name.
    """
    kinds = type(value).__mro__
    return any(kind.__name__ == name and kind.__module__.startswith(f"{package}.") for kind in kinds)


def lazy_attribute(package: str, homes: Mapping[str, str], name: str) -> object:
    """Implement a package's `__getattr__`.

    Args:
        package: the package's dotted name.
        homes: the module within the package by public name.
        name: the attribute's name.

    Raises:
        AttributeError: the package has no such name.
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(import_module(f"{package}.{homes[name]}"), name)


def adapter_attribute(
    package: str,
    homes: Mapping[str, str],
    name: str,
    *,
    vendors: Collection[str],
    extra: str,
    distribution: str | None = None,
) -> object:
    """Implement `__getattr__` for a package that needs a framework.

    Args:
        package: as in `lazy_attribute`.
        homes: as in `lazy_attribute`.
        name: as in `lazy_attribute`.
        vendors: the framework's top-level modules.
        extra: this package's extra that installs it.
        distribution: its name on PyPI; None means the missing module's name.

    Raises:
        MissingDependency: the framework is not installed.
    """
    try:
        return lazy_attribute(package, homes, name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in vendors:
            raise
        remedy = f'Run: pip install "hindsight-integrations[{extra}]"'
        raise MissingDependency(distribution or missing, remedy) from error
