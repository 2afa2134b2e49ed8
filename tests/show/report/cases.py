"""Trees, tables and paths to report on: drawn, not trained, with any names."""

import base64
import json
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from sorct import Path, Tree
from sorct.data.encoder import TableEncoder
from sorct.data.target import Classes
from sorct.tree.training import TrainingRecord

# What names must survive: markup, quotes, templates, line ends, nothing, too much.
SCRIPT = "</script><img src=x onerror=alert(1)>"
HOSTILE = [
    SCRIPT,
    "\"'><svg onload=alert(2)>",
    "${alert(3)}`${document.title='x'}`",
    "<!--<script>",
    "line\nbreak\r\n\ttab",
    "\u2028\u2029\u202e\ufeff",
    "",
    "&lt;b&gt; &amp; $title $$ %s {0}",
    "W" * 400,
]


def mixed_table(rng, n=90):
    """Table of all kinds of columns: far from zero, constant, levels of any type."""
    return pd.DataFrame(
        {
            "plain": rng.normal(0.0, 1.0, n),
            "far": 1e7 + rng.normal(0.0, 1.0, n),
            "small": rng.uniform(1e-7, 2e-7, n),
            "constant": np.full(n, 3.5),
            "whole": rng.integers(-5, 50, n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "word": rng.choice(["a", "b > 0.5", "c"], n),
            "flag": rng.random(n) < 0.5,
            "code": pd.Categorical(rng.choice([1, 2, 30], n)),
        },
        index=[f"row {k}" for k in range(n)],
    )


def hostile_table(rng, n=60):
    """Table whose columns, levels and rows have hostile names."""
    columns = {name: rng.normal(0.0, 1.0, n) for name in HOSTILE[:-1]}
    columns["<b>levels</b>"] = pd.Categorical(rng.choice(HOSTILE, n))
    return pd.DataFrame(columns, index=[HOSTILE[k % len(HOSTILE)] for k in range(n)])


def drawn_tree(rng, X, classes, depth=2, density=1.0, gamma=64.0):
    """Random tree on a table; every class has a leaf if it can."""
    encoder = TableEncoder.learn(X)
    scaled, n_cuts = encoder.encode(X), 2**depth - 1
    coef = rng.uniform(-1.0, 1.0, (encoder.n_columns, n_cuts))
    coef[rng.random(coef.shape) > density] = 0.0
    coef[np.ptp(scaled, axis=0) == 0.0] = 0.0
    tree = Tree(
        encoder=encoder,
        coef=coef,
        threshold=scaled.mean(axis=0) @ coef / encoder.n_columns,
        leaf_class=rng.permutation(np.arange(2**depth) % len(classes)),
        target=Classes(np.asarray(classes)),
        gamma=gamma,
        cost_matrix=1.0 - np.eye(len(classes)),
        mass=np.ones((len(classes), 2**depth)),
    )
    own = np.eye(len(classes))[drawn_codes(rng, tree, X)]
    return replace(tree, mass=own.T @ tree.leaf_reach(X) / len(scaled))


def drawn_codes(rng, tree, X):
    """Classes of rows, as the tree predicts them but for a fifth; all occur."""
    codes = np.argmax(tree.predict_proba(X), axis=1)
    other = rng.random(len(codes)) < 0.2
    codes[other] = rng.integers(0, len(tree.classes), other.sum())
    codes[: len(tree.classes)] = np.arange(len(tree.classes))
    return codes


def drawn_labels(rng, tree, X):
    """Labels of rows, mostly as the tree predicts them."""
    return tree.classes[drawn_codes(rng, tree, X)]


def drawn_path(rng, tree, X, n_local=3, n_global=2):
    """Path of trees that differ and grow sparser along both axes."""
    local, spread = np.arange(n_local) / 4, np.arange(n_global) / 8
    own, trees = np.eye(len(tree.classes))[drawn_codes(rng, tree, X)], []
    for a in local:
        for b in spread:
            share = (a + b) / (local[-1] + spread[-1] + 1e-9)
            coef = tree.coef * rng.uniform(0.9, 1.0, tree.coef.shape)
            coef[rng.random(len(coef)) < share] = 0.0
            told = TrainingRecord(
                alpha_local=float(a),
                alpha_global=float(b),
                objective=float(a + b),
                cost=0.25,
                residual=1e-9,
            )
            one = replace(tree, coef=coef, training=told)
            mass = own.T @ one.leaf_reach(X) / len(own)
            trees.append(replace(one, mass=mass))
    return Path(local, spread, tuple(trees), np.zeros(len(trees)))


def random_rows(rng, tree, n):
    """Rows as the page takes them, and as a table; half of them far outside."""
    places, columns = [], {}
    for variable in tree.encoder.variables:
        if hasattr(variable, "levels"):
            place = rng.integers(0, len(variable.levels), n)
            places.append(place.tolist())
            levels = pd.Series(list(variable.levels), dtype=object)
            columns[variable.name] = levels.iloc[place].to_numpy()
        else:
            spread = np.where(np.arange(n) % 2, 1.0, 20.0)
            value = rng.uniform(-0.5, 0.5, n) * spread + 0.5
            value = variable.lower + (variable.span or 1.0) * value
            places.append(value.tolist())
            columns[variable.name] = value
    return [list(row) for row in zip(*places, strict=True)], pd.DataFrame(columns)


class Elements(HTMLParser):
    """Collects the tags and the text of a page as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self._open = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Keep the tag with the names of its attributes."""
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self._open = dict(attrs).get("id", tag)

    def handle_data(self, data):
        """Keep the text by the id or tag it follows."""
        self.texts[self._open] = self.texts.get(self._open, "") + data


def data_in(page):
    """What the page's script reads."""
    return json.loads(Elements(page).texts["report-data"])


def sql_in(page):
    """Texts that the page holds compressed."""
    plain = zlib.decompress(base64.b64decode(Elements(page).texts["report-sql"]))
    return json.loads(plain)
