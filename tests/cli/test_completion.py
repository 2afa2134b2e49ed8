"""Completion: every verb and flag, in scripts that the shells themselves accept."""

import shutil
import subprocess

import pytest

from sorct.cli import main
from sorct.cli.completion import script, verbs_of
from sorct.cli.parser import SHELLS, build_parser

VERBS = verbs_of(build_parser())


def shell_or_skip(name):
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_and_flag_is_in_the_script(shell, capsys):
    """Read from the parser, so that none is forgotten."""
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert len(VERBS) == 10
    for verb in VERBS:
        assert verb.name in text
        for flag in verb.flags:
            for name in flag.names:
                assert (name.lstrip("-") if shell == "fish" else name) in text


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_the_script(shell, tmp_path):
    """Syntax only; nothing is run."""
    program = shell_or_skip(shell)
    (tmp_path / "script").write_text(script(build_parser(), shell))
    done = subprocess.run(
        [program, "-n", str(tmp_path / "script")], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


BASH = """
source ./script
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_sorct
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def complete(tmp_path):
    """Ask a real bash what may follow; the last word is the one being typed."""
    program = shell_or_skip("bash")
    (tmp_path / "script").write_text(script(build_parser(), "bash"))
    (tmp_path / "data file.csv").touch()

    def ask(words):
        done = subprocess.run(
            [program, "--norc", "-c", BASH.format(words=words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return set(done.stdout.splitlines()) - {""}

    return ask


def test_fish_completes_verbs_flags_and_choices(tmp_path):
    """Asked by its own command."""
    program = shell_or_skip("fish")
    (tmp_path / "script").write_text(script(build_parser(), "fish"))

    def ask(line):
        code = f"source script; complete -C '{line}'"
        done = subprocess.run(
            [program, "--no-config", "-c", code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, done.stderr
        return {answer.split("\t")[0] for answer in done.stdout.splitlines()}

    assert ask("sorct ex") == {"explain", "export"}
    assert ask("sorct show --de") == {"--decimals"}
    assert ask("sorct export --to j") == {"javascript", "js", "json"}
    assert ask("sorct completion z") == {"zsh"}


def test_bash_completes_verbs(complete):
    """At the first place."""
    assert complete('sorct ""') == {*(v.name for v in VERBS), "--help", "--version"}
    assert complete("sorct ex") == {"explain", "export"}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_bash_completes_the_flags_of_a_verb(complete, verb):
    """All of them, and none of another verb."""
    expected = {name for flag in verb.flags for name in flag.names}
    assert complete(f"sorct {verb.name} -") == expected


def test_bash_completes_choices_and_files(complete):
    """What may follow a flag, and names of files with blanks."""
    assert complete('sorct export m.json --to ""') == {
        "sql", "onnx", "json", "python", "javascript", "js",
    }  # fmt: skip
    assert complete("sorct fit --rule o") == {"one-standard-error"}
    assert complete("sorct fit data") == {"data file.csv"}
    assert complete("sorct fit --cost-matrix data") == {"data file.csv"}
    assert complete('sorct completion ""') == set(SHELLS)
