"""Completion scripts for bash, zsh and fish, as pure functions of what can be completed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from shlex import quote

NAMES = ("rheo_verify", "rheo-verify")


@dataclass(frozen=True)
class Word:
    """A flag, or (without `flags`) what stands alone. values: what may follow; files, folders: a path may."""

    flags: tuple[str, ...]
    takes_value: bool
    values: tuple[str, ...]
    files: bool
    folders: bool
    help: str


@dataclass(frozen=True)
class Command:
    """One command: its help, its flags, and what stands without a flag."""

    help: str
    flags: tuple[Word, ...]
    others: tuple[Word, ...]


def bash(commands: Mapping[str, Command]) -> str:
    """For bash 4 or newer; needs no bash-completion package."""
    cases, flags, others = [], [], []
    for name, command in commands.items():
        flags.append(f"        {name}) flags={quote(' '.join(f for word in command.flags for f in word.flags))} ;;")
        values = " ".join(value for word in command.others for value in word.values)
        paths = _path_kind(command.others)
        others.append(f"        {name}) values={quote(values)} paths={paths} ;;")
        for word in command.flags:
            if word.takes_value:
                pattern = "|".join(f"{name}:{flag}" for flag in word.flags)
                cases.append(f"        {pattern}) values={quote(' '.join(word.values))} paths={_path_kind([word])} ;;")
    return _BASH.format(
        commands=" ".join(commands),
        flags="\n".join(flags),
        others="\n".join(others),
        cases="\n".join(cases),
        names=" ".join(NAMES),
    )


def zsh(commands: Mapping[str, Command]) -> str:
    """For zsh, as a function file `_rheo_verify`."""
    named = "\n".join(f"    {quote(f'{name}:{_plain(it.help)}')}" for name, it in commands.items())
    parts = []
    for name, command in commands.items():
        specs = [_zsh_flag(word) for word in command.flags]
        specs += [f"'*: :{_zsh_values(word)}'" for word in command.others[:1]]
        joined = " \\\n          ".join(specs)
        parts.append(f"      {name})\n        _arguments \\\n          {joined}\n        ;;")
    return _ZSH.format(names=" ".join(NAMES), named=named, parts="\n".join(parts))


def fish(commands: Mapping[str, Command]) -> str:
    """For fish."""
    lines = []
    for program in NAMES:
        lines.append(f"complete -c {program} -f")
        for name, command in commands.items():
            lines.append(f"complete -c {program} -n __fish_use_subcommand -a {name} -d {_fish(command.help)}")
            here = f"complete -c {program} -n '__fish_seen_subcommand_from {name}'"
            for word in command.flags:
                long = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in word.flags)
                value = ""
                if word.takes_value:
                    value = " -x" if not word.files else " -r -F"
                    value += f" -a {quote(' '.join(word.values))}" if word.values else ""
                lines.append(f"{here} {long}{value} -d {_fish(word.help)}")
            for word in command.others:
                if word.values:
                    lines.append(f"{here} -a {quote(' '.join(word.values))}")
                if word.files:
                    lines.append(f"{here} -F")
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[Mapping[str, Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _path_kind(words: Iterable[Word]) -> str:
    kinds = ["folders" if word.folders else "files" for word in words if word.files]
    return kinds[0] if kinds else "none"


def _plain(words: str) -> str:
    """Without what zsh gives a meaning."""
    return "".join(" " if c in ":[]'`$\\" else c for c in words)


def _zsh_values(word: Word) -> str:
    if word.values and not word.files:
        return f"({' '.join(word.values)})"
    if word.values:
        return f'_alternative "values:value:({" ".join(word.values)})" "files:file:_files"'
    return "_files -/" if word.folders else "_files" if word.files else " "


def _zsh_flag(word: Word) -> str:
    value = f":value:{_zsh_values(word)}" if word.takes_value else ""
    if len(word.flags) == 1:
        return f"'{word.flags[0]}[{_plain(word.help)}]{value}'"
    return f"{{{','.join(word.flags)}}}'[{_plain(word.help)}]{value}'"


def _fish(words: str) -> str:
    return "'" + words.replace("\\", "\\\\").replace("'", "\\'") + "'"


_BASH = """# bash completion for rheo_verify
_rheo_verify() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local command=${{COMP_WORDS[1]}} flags= values= paths=none
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W '{commands} --help --version' -- "$current"))
        return
    fi
    case $command in
{flags}
    esac
    case $command in
{others}
    esac
    case $command:$before in
{cases}
        *) if [[ $current == -* ]]; then values=$flags paths=none; fi ;;
    esac
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    case $paths in
        files) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$current")) ;;
        folders) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$current")) ;;
    esac
}}
complete -F _rheo_verify {names}
"""

_ZSH = """#compdef {names}
_rheo_verify() {{
  local context state line
  local -a commands
  commands=(
{named}
  )
  _arguments -C '1:command:->command' '*::argument:->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      case $line[1] in
{parts}
      esac
      ;;
  esac
}}
if [ "$funcstack[1]" = "_rheo_verify" ]; then
  _rheo_verify "$@"
else
  compdef _rheo_verify {names}
fi
"""
