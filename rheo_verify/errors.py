"""Every message the project raises on purpose carries a stable code, each with a page in docs/.

Codes: RV1xx bad input (exit code 2), RV2xx a limit was reached (exit code 3), RV3xx misuse of the library,
RV4xx foreign code, RV5xx acceptance and search, RV6xx real models and transcripts, RV7xx certificates and proofs,
RV8xx work in pieces. What cannot run here (RV600, RV704, RV803) ends with exit code 3.
"""

from __future__ import annotations

from typing import Any


class RheoVerifyError(Exception):
    """A fault that has a code and one clear line. `str(error)` is ``RV101: message``."""

    exit_code = 2

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message), self.__dict__


class InputError(RheoVerifyError):
    """What was given cannot be used: a model file, a parameter, a combination of flags (exit code 2)."""


class CannotRun(InputError):
    """What was asked for cannot be answered here: something is not installed, or its workers die (exit code 3)."""

    exit_code = 3


def install(extra: str = "") -> str:
    """How to install this project with one of its extras. It is on no package index."""
    what = f"'.[{extra}]'" if extra else "."
    return f"pip install {what} in a checkout of rheo_verify"


def not_installed(package: str | None, extra: str, what: str = "") -> CannotRun:
    """RV600: `package` is missing, which `extra` brings; `what` says for what it is needed."""
    needed = f"{what} needs {package}, which is not installed" if what else f"{package} is not installed"
    return CannotRun("RV600", f"{needed}: {install(extra)}")


class LimitReached(RheoVerifyError):
    """A stated limit ended the work before its end: the answer is INCONCLUSIVE (exit code 3).

    `covered` says in words what was finished before the limit.
    """

    exit_code = 3

    def __init__(self, code: str, message: str, covered: str = "") -> None:
        super().__init__(code, message)
        self.covered = covered


class MisuseError(RheoVerifyError):
    """A function was called in a way that it does not define, e.g. a choice among weights that sum to zero."""


CODES: dict[str, str] = {
    "RV101": "a value is not an exact rational",
    "RV102": "a row is not a distribution",
    "RV103": "the model file cannot be read",
    "RV104": "the model file has the wrong shape",
    "RV105": "a context that is needed has no row",
    "RV106": "a parameter is out of range",
    "RV107": "the class method is not valid for this design",
    "RV108": "the enumeration would be too large",
    "RV109": "a replay string does not fit",
    "RV110": "the command line cannot be read",
    "RV111": "a flag would have no effect",
    "RV120": "an input file cannot be read",
    "RV121": "the code to check cannot be loaded",
    "RV122": "an output file cannot be written",
    "RV131": "the code to check does not take the call",
    "RV132": "the code to check raised on every case",
    "RV201": "the time limit was reached",
    "RV202": "the limit on trees was reached",
    "RV203": "interrupted",
    "RV204": "the memory limit was reached",
    "RV301": "a choice without weight",
    "RV302": "the same program took another path when run again",
    "RV303": "a rule was given a tree that it is not defined for",
    "RV401": "the law of the emitted tokens is not the target's",
    "RV402": "a random value is used in a way that has no exact answer",
    "RV403": "a random function, or these arguments of it, are not answered",
    "RV404": "the same choices gave another result: randomness escaped",
    "RV405": "the code under test raised an exception",
    "RV406": "what was returned is not a sequence of token ids of a possible length",
    "RV407": "a token of target probability zero was emitted",
    "RV408": "the tokens before the last are not the drafted ones",
    "RV409": "the accepted count is not the number of accepted drafts",
    "RV410": "an input was changed in place",
    "RV411": "drafts were drawn under one law and tested under another row of the draft model",
    "RV412": "drafts were tested in another order than they were drawn in",
    "RV413": "a row given to a random function is not a distribution",
    "RV414": "u <= p/q accepts at u = 0 (a warning)",
    "RV415": "a generator was set back: two draws share their noise (a warning)",
    "RV416": "what a call emits depends on the call before it",
    "RV421": "the error of the integrated law is too large to decide (a warning)",
    "RV422": "the assumption about the coins does not hold (a warning)",
    "RV501": "an optimal-transport plan meets a candidate set that it was not made for",
    "RV502": "optimal-transport is asked for what only an exact plan of one layer can answer",
    "RV503": "a search expression cannot be read",
    "RV504": "a search state does not belong to this search",
    "RV505": "no static tree: the number of candidates would depend on the draw",
    "RV600": "an optional package is not installed",
    "RV601": "a checkpoint cannot be read",
    "RV602": "a checkpoint's configuration is not one that is implemented",
    "RV603": "a checkpoint's weights are not the ones its configuration asks for",
    "RV604": "a head's vocabulary map is wrong",
    "RV605": "a head does not fit the target",
    "RV606": "a transcript line cannot be used",
    "RV607": "the state of an audit does not fit",
    "RV608": "a network returned values that are not numbers",
    "RV701": "a certificate cannot speak of this run",
    "RV702": "the certificate would be too large to recheck",
    "RV703": "the certificate cannot be written",
    "RV704": "the proofs are not there",
    "RV705": "no claim of that name",
    "RV801": "a checkpoint of finished pieces cannot be used",
    "RV802": "no cluster answers",
    "RV803": "workers die again and again",
}
