"""torch and transformers where they are installed, and the types and devices that are called by name."""

from __future__ import annotations

from typing import Any

from rheo_verify.errors import InputError, not_installed

DTYPES = ("float64", "float32", "bfloat16", "float16")


def torch_and_transformers() -> tuple[Any, Any]:
    """Both modules. Raises `CannotRun` RV600 that says how to install them."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise not_installed(error.name, "torch") from None
    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return torch, transformers


def check_dtype(name: str) -> None:
    """Raises `InputError` RV106 unless `name` is one of `DTYPES`."""
    if name not in DTYPES:
        raise InputError("RV106", f"dtype must be one of {', '.join(DTYPES)}, not {name!r}")


def torch_dtype(name: str) -> Any:
    """The torch type called `name`. Raises `InputError` RV106."""
    check_dtype(name)
    return getattr(torch_and_transformers()[0], name)


def torch_device(name: str) -> Any:
    """The device called `name`; `auto` is the first GPU, or the CPU. Raises `InputError` RV106."""
    torch, _ = torch_and_transformers()
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.zeros(1, device=name).tolist()
        return torch.device(name)
    except Exception as error:  # torch looks for a module of that name, among others
        raise InputError("RV106", f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
