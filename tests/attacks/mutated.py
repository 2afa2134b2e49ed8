"""Mutated: plain data and bytes of a file, damaged at random places."""

import json

_DEEP = "[" * 40 + "]" * 40
#: Plain values that belong nowhere, as JSON.
_VALUES = [
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1,
    10**30, 10**400, 0.5, -0.0, 1.5, 1e-320, 5e-324, 1e-300, -1e-300, 1e300, -1e300,
    1.7976931348623157e308, -1.7976931348623157e308, float("nan"), float("inf"),
    -float("inf"), "", " ", "a", "1", "é\u2028\ud800", "\0", "x" * 5000, "</script>",
    "<U1", "<U999999999", "<U99999999999999", "|O", "<f8", "<f2", "<f16", "<i1", "|b1",
    "<c16", "<M8[s]", "first_level", "error", "sorct-tree", "sorct-path", "__proto__",
    "sorct-forest",
    [], {}, [[]], [{}], [None], [0], [1, 2], [[1, 2], [3]], ["a", "b"], [True, False],
    {"a": 1}, {"name": "z"}, {"name": "z", "levels": ["p", "q"]},
    {"name": "z", "levels": [1, 2.5], "mode": 1}, {"name": "z", "lower": 0, "span": 1},
    {"dtype": "<U1", "labels": ["a", "b"]}, json.loads(_DEEP),
    {"slope": 1.0, "shift": 0.0}, {"slope": 1e300, "shift": -1e300},
    {"points": [0.0, 5e-324, 1.0], "values": [0.0, 1e-320, 1.0]},
    {"points": [0.5], "values": [0.0]}, {"points": [], "values": []},
    {"maps": [{"slope": -1e70, "shift": 1e70}]}, {"maps": []},
    [[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]],
    {"centre": 0.0, "spread": 1e-300, "low": -1e75, "high": 1e75},
]  # fmt: skip
_KEYS = ["name", "levels", "mode", "lower", "span", "median", "whole", "", "x"]
_KEYS += ["leaf_proba", "decision_cost", "calibration", "routed", "maps", "points"]
_KEYS += ["followed_at"]
_KEYS += ["leaf_value", "leaf_coef", "leaf_mean", "leaf_miss", "quantity", "classes"]
_KEYS += ["weights", "common", "trees", "training", "drop", "decision_cost"]
_BYTES = [
    b"",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
]
_BYTES += [b"e999", b"-", b"NaN", b"Infinity", b"1e400", b"9" * 400, b"[" * 9000]


def mutated_data(rng, data):
    """Plain data with one to three parts damaged."""
    for _ in range(_how_many(rng)):
        places = _places(rng, data)
        if not places:
            return data
        holder, key = places[-1]
        _OPERATIONS[rng.integers(len(_OPERATIONS))](rng, holder, key)
    return data


def _how_many(rng):
    """Mostly one: what is damaged in several places is refused sooner."""
    return 1 + int(rng.random() < 0.2) + int(rng.random() < 0.05)


def _places(rng, data):
    """A random way down into plain data: at each step a holder and a key."""
    found = []
    while isinstance(data, (dict, list)) and len(data) > 0:
        keys = list(data) if isinstance(data, dict) else range(len(data))
        key = keys[int(rng.integers(len(keys)))]
        found.append((data, key))
        if rng.random() < 0.08:
            break
        data = data[key]
    return found


def _value(rng):
    value = _VALUES[rng.integers(len(_VALUES))]
    # Copied, so that what is put in twice is not damaged twice.
    return json.loads(json.dumps(value)) if isinstance(value, (dict, list)) else value


def _replace(rng, holder, key):
    holder[key] = _value(rng)


def _delete(rng, holder, key):
    del holder[key]


def _double(rng, holder, key):
    if isinstance(holder, list):
        holder.insert(int(rng.integers(len(holder) + 1)), holder[key])
    else:
        holder[_KEYS[rng.integers(len(_KEYS))]] = holder[key]


def _swap(rng, holder, key):
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    other = keys[int(rng.integers(len(keys)))]
    holder[key], holder[other] = holder[other], holder[key]


def _stretch(rng, holder, key):
    """A number times a power of ten, a text or a list many times over."""
    value = holder[key]
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        holder[key] = [value]
    elif isinstance(value, (int, float)):
        size = min(max(value or 1.0, -1e300), 1e300)
        holder[key] = float(size) * 10.0 ** int(rng.integers(-300, 300))
    else:
        holder[key] = value * int(rng.integers(0, 4))


def _turn(rng, holder, key):
    """A list backwards or cut short, a number with the other sign, or a list of one."""
    value = holder[key]
    if isinstance(value, list):
        holder[key] = value[::-1] if rng.random() < 0.5 else value[:-1]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        holder[key] = -value
    else:
        holder[key] = [value]


def _add(rng, holder, key):
    if isinstance(holder, list):
        holder.append(_value(rng))
    else:
        holder[_KEYS[rng.integers(len(_KEYS))]] = _value(rng)


_OPERATIONS = (_replace, _replace, _delete, _double, _swap, _stretch, _turn, _add)


def mutated_bytes(rng, content):
    """Bytes of which one to three pieces are changed, doubled, lost or cut off."""
    for _ in range(_how_many(rng)):
        first = int(rng.integers(len(content) + 1))
        last = min(len(content), first + int(rng.integers(0, 12)))
        piece = _BYTES[rng.integers(len(_BYTES))]
        kind = rng.random()
        if kind < 0.05:
            content = content[:first]
        elif kind < 0.3:
            content = content[:first] + rng.bytes(last - first) + content[last:]
        elif kind < 0.5:
            digit = str(int(rng.integers(10))).encode()
            content = content[:first] + digit + content[first + 1 :]
        elif kind < 0.6:
            content = content[:last] + content[first:]
        else:
            content = content[:first] + piece + content[last:]
    return content
