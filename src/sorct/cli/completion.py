"""Completion: scripts for bash, zsh and fish, written from the parser.

The scripts hold all verbs, flags and choices, and complete names of files; nothing runs
sorct while a command is typed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """A flag of a verb: its names, its help, and what may follow it."""

    names: tuple[str, ...]
    text: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A verb: its help, its flags, and the choices of its first argument, if any."""

    name: str
    text: str
    flags: tuple[Flag, ...]
    choices: tuple[str, ...]


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Completion script of a shell."""
    verbs = verbs_of(parser)
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](verbs)


def verbs_of(parser: argparse.ArgumentParser) -> list[Verb]:
    """All verbs of a parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {one.dest: one.help or "" for one in action._choices_actions}
            return [
                _verb(name, texts[name], verb) for name, verb in action.choices.items()
            ]
    return []


def _verb(name: str, text: str, parser: argparse.ArgumentParser) -> Verb:
    flags: list[Flag] = []
    choices: tuple[str, ...] = ()
    for action in parser._actions:
        values = tuple(str(choice) for choice in action.choices or ())
        if action.option_strings:
            takes_value = action.nargs != 0
            names = tuple(action.option_strings)
            flags.append(Flag(names, action.help or "", takes_value, values))
        else:
            choices = values or choices
    return Verb(name, text, tuple(flags), choices)


# -- bash ------------------------------------------------------------------------------

_BASH = """\
# Completion of sorct for bash. Load it with: source <(sorct completion bash)
_sorct_files() {{
    local IFS=$'\\n'
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -f -- "$1"))
}}
_sorct() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    local verb=${{COMP_WORDS[1]}} words=""
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "{top}" -- "$cur"))
        return
    fi
    case "$verb $prev" in
{values}
    esac
    case "$verb" in
{flags}
        *) return ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    else
        case "$verb" in
{choices}
            *) _sorct_files "$cur" ;;
        esac
    fi
}}
complete -F _sorct sorct
"""


def _bash(verbs: list[Verb]) -> str:
    values, flags, choices = [], [], []
    for verb in verbs:
        names = " ".join(name for flag in verb.flags for name in flag.names)
        flags.append(f'        {verb.name}) words="{names}" ;;')
        if verb.choices:
            words = " ".join(verb.choices)
            choices.append(
                f'            {verb.name}) COMPREPLY=($(compgen -W "{words}" -- '
                f'"$cur")) ;;'
            )
        for flag in verb.flags:
            if flag.takes_value:
                values.append(_bash_value(verb, flag))
    top = " ".join([*(verb.name for verb in verbs), "--help", "--version"])
    return _BASH.format(
        top=top,
        values="\n".join(values),
        flags="\n".join(flags),
        choices="\n".join(choices),
    )


def _bash_value(verb: Verb, flag: Flag) -> str:
    cases = "|".join(f'"{verb.name} {name}"' for name in flag.names)
    if flag.choices:
        done = f'compgen -W "{" ".join(flag.choices)}" -- "$cur"'
        return f"        {cases}) COMPREPLY=($({done})); return ;;"
    return f'        {cases}) _sorct_files "$cur"; return ;;'


# -- zsh -------------------------------------------------------------------------------

_ZSH = """\
#compdef sorct
# Completion of sorct for zsh. Load it with: source <(sorct completion zsh)
_sorct() {{
    local -a verbs
    verbs=(
{verbs}
    )
    if (( CURRENT == 2 )); then
        _describe 'verb' verbs
        return
    fi
    case "$words[2]" in
{cases}
    esac
}}
if [[ "$funcstack[1]" = "_sorct" ]]; then
    _sorct "$@"
else
    compdef _sorct sorct
fi
"""


def _zsh(verbs: list[Verb]) -> str:
    lines = "\n".join(f"        {_quoted(f'{v.name}:{v.text}')}" for v in verbs)
    return _ZSH.format(verbs=lines, cases="\n".join(_zsh_case(v) for v in verbs))


def _zsh_case(verb: Verb) -> str:
    specs = [_zsh_flag(flag, name) for flag in verb.flags for name in flag.names]
    what = f"({' '.join(verb.choices)})" if verb.choices else "_files"
    specs.append(_quoted(f"*:argument:{what}"))
    listing = " \\\n                ".join(specs)
    # The verb counts as the command: what follows are its own words.
    return (
        f"        {verb.name})\n            shift words; (( CURRENT-- ))\n"
        f"            _arguments \\\n                {listing} ;;"
    )


def _zsh_flag(flag: Flag, name: str) -> str:
    text = flag.text
    for special in "[]:":
        text = text.replace(special, f"\\{special}")
    spec = f"*{name}[{text}]"
    if flag.choices:
        spec += f":value:({' '.join(flag.choices)})"
    elif flag.takes_value:
        spec += ":value:_files"
    return _quoted(spec)


# -- fish ------------------------------------------------------------------------------


def _fish(verbs: list[Verb]) -> str:
    lines = [
        "# Completion of sorct for fish. Load it with: sorct completion fish | source",
        "complete -c sorct -n __fish_use_subcommand -f",
        "complete -c sorct -n __fish_use_subcommand -l help -d 'show help'",
        "complete -c sorct -n __fish_use_subcommand -l version -d 'show the version'",
    ]
    for verb in verbs:
        lines.append(
            f"complete -c sorct -n __fish_use_subcommand -a {verb.name} "
            f"-d {_quoted(verb.text)}"
        )
        here = f"complete -c sorct -n '__fish_seen_subcommand_from {verb.name}'"
        if verb.choices:
            lines.append(f"{here} -f -a {_quoted(' '.join(verb.choices))}")
        lines += [f"{here} {_fish_flag(flag)}" for flag in verb.flags]
    return "\n".join(lines) + "\n"


def _fish_flag(flag: Flag) -> str:
    parts = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
        for name in flag.names
    ]
    if flag.choices:
        parts.append(f"-x -a {_quoted(' '.join(flag.choices))}")
    elif flag.takes_value:
        parts.append("-r -F")
    return " ".join([*parts, f"-d {_quoted(flag.text)}"])


def _quoted(text: str) -> str:
    """Text in single quotes, as all three shells read it.

    Help has no quotes of its own; one that came to have them would lose them.
    """
    return "'" + text.replace("'", "").replace("\n", " ") + "'"
