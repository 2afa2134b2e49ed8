"""Printing: what goes to a terminal is text and nothing else."""

import json

from sorct.cli import main
from tests.data.test_encoder import mixed_table
from tests.tree.test_tree import random_tree


def test_json_has_no_character_that_a_terminal_obeys(tmp_path, capsys, rng):
    """Names with escapes are shown as escapes of JSON, and read back the same."""
    name = "a\x9b31m\u202e\x7f\ufeff\ud800"
    data = random_tree(rng, mixed_table(rng)).to_dict()
    data["variables"][0]["name"] = name
    (tmp_path / "model.json").write_text(json.dumps(data))
    assert main(["show", str(tmp_path / "model.json"), "--json"]) == 0
    out = capsys.readouterr().out
    assert out.removesuffix("\n").isprintable()
    assert json.loads(out)["tree"]["variables"][0]["name"] == name


def test_a_data_set_is_one_document_as_well(tmp_path, capsys):
    """With a file or without."""
    line = ["datasets", "iris", "--json"]
    assert main([*line, "--out", str(tmp_path / "iris.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "iris"
    assert main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"][-1] == "class"
    assert len(found["rows"]) == 150
