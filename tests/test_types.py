"""Type checkers see our types: a marker in the package, and an annotation for everything that is public."""

import importlib.resources
import inspect

import pytest

import mapdp


def public_functions():
    """Yield the public functions, and the public methods of public classes."""
    for name in mapdp.__all__:
        subject = getattr(mapdp, name)
        if inspect.isclass(subject):
            members = inspect.getmembers(
                subject, lambda one: inspect.isfunction(one) or inspect.ismethod(one)
            )
            for member, function in members:
                is_public = member == "__init__" or not member.startswith("_")
                if is_public and function.__module__.startswith("mapdp"):
                    yield f"{name}.{member}", function
        elif inspect.ismodule(subject):
            for member in getattr(subject, "__all__", ()):
                if inspect.isfunction(getattr(subject, member)):
                    yield f"{name}.{member}", getattr(subject, member)
        elif callable(subject):
            yield name, subject


def missing_types(function):
    """Return the parameters without a type, and "return" where that has none."""
    signature = inspect.signature(function)
    named = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    missing = [p.name for p in named if p.annotation is p.empty]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


def test_the_package_is_marked_as_typed():
    assert (importlib.resources.files("mapdp") / "py.typed").is_file()


def test_public_functions_have_types():
    functions = dict(public_functions())
    assert len(functions) > 200
    assert {name: missing for name, one in functions.items() if (missing := missing_types(one))} == {}


@pytest.mark.parametrize(
    ("function", "missing"), [(lambda x: x, ["x", "return"]), (public_functions, ["return"])]
)
def test_missing_types_are_noticed(function, missing):
    assert missing_types(function) == missing
