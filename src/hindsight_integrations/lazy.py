"""Lazy packages: a name brings in its module when it is used, so that importing a package costs next to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from hindsight_integrations.errors import MissingDependency


def lazy_attribute(package: str, homes: Mapping[str, str], name: str) -> object:
    """What `package.__getattr__(name)` gives.

    Args:
        package: its dotted name.
        homes: the module, within the package, of each public name.
        name: the one wanted.

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
    vendor: str,
    extra: str,
    distribution: str | None = None,
) -> object:
    """The same for a package that needs a framework.

    Args:
        package: as in `lazy_attribute`.
        homes: as in `lazy_attribute`.
        name: as in `lazy_attribute`.
        vendor: the framework's top-level module.
        extra: the extra of this package that installs it.
        distribution: what it is called on the package index; the vendor's name if None.

    Raises:
        MissingDependency: the framework is not installed.
    """
    try:
        return lazy_attribute(package, homes, name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != vendor:
            raise
        remedy = f'Run: pip install "hindsight-integrations[{extra}]"'
        raise MissingDependency(distribution or vendor, remedy) from error
