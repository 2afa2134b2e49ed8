"""What the parts of ``bench_scale`` run, each in a process of its own.

A process of its own, so that the peak of its memory is that of one fit; the load tells
how many processes wanted a core meanwhile, beside ours.
"""

CLOCK = """
import os, time, warnings
warnings.simplefilter("ignore")

def status(key):
    with open("/proc/self/status") as file:
        return int(next(l for l in file if l.startswith(key)).split()[1]) / 1024

class Clock:
    def __init__(self):
        self.memory = status("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        self.begun, self.spent = time.perf_counter(), time.process_time()

    def read(self, digits=2):
        seconds = time.perf_counter() - self.begun
        spent = time.process_time() - self.spent
        return dict(
            seconds=round(seconds, digits), processor_seconds=round(spent, digits),
            load=round(os.getloadavg()[0], 1),
        )
"""
IN_MEMORY = (
    CLOCK
    + """
from sorct import SORCTClassifier
from sorct.datasets import make_planted_tree
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier
small = make_planted_tree(500, {p}, {depth}, {classes}, 3, random_state=0)
SORCTClassifier({depth}, n_starts=1, random_state=0).fit(small.X, small.y)
data = make_planted_tree({n}, {p}, {depth}, {classes}, 3, random_state=0)
clf = {method}
clock = Clock()
clf.fit(data.X, data.y)
told = clock.read()
told["copies"] = round((status("VmHWM") - clock.memory) / (data.X.nbytes / 2**20), 3)
told["accuracy"] = round(float((clf.predict(data.X) == data.y_clean).mean()), 4)
told["passes"] = getattr(clf, "n_passes_", "")
told["objective"] = getattr(clf, "objective_", "")
print(told)
"""
)
STREAMED = (
    CLOCK
    + """
import pandas as pd
from sorct import SORCTClassifier
clock = Clock()
clf = SORCTClassifier({options}).fit({files!r}, "y", checkpoint={kept!r})
told = clock.read()
told["megabytes"] = round(status("VmHWM"))
told["passes"], told["objective"] = clf.n_passes_, clf.objective_
clf.tree_.to_json({model!r})
test = pd.read_parquet({test!r})
told["accuracy"] = round(clf.score(test.drop(columns="y"), test["y"]), 4)
print(told)
"""
)
SPARSE = (
    CLOCK
    + """
import numpy as np
from scipy import sparse
from sorct import SORCTClassifier
rng = np.random.default_rng(0)
n, p, length = {n}, {p}, 100
# Words by Zipf's law; twenty of them are more frequent in one of the classes.
share = 1.0 / np.arange(10, p + 10)
y = rng.integers(0, 2, 2 * n)
telling = rng.choice(np.arange(50, 2000), 20, replace=False)
words = rng.choice(p, (2 * n, length), p=share / share.sum())
own = telling[rng.integers(0, 10, (2 * n, 3)) + 10 * y[:, None]]
words[:, :3] = np.where(rng.uniform(size=own.shape) < 0.4, own, words[:, :3])
rows = np.repeat(np.arange(2 * n), length)
counts = np.ones(rows.size)
X = sparse.csr_array((counts, (rows, words.ravel())), (2 * n, p))
small = sparse.csr_array(X[:50, :50])
clf = SORCTClassifier(1, n_starts=1).fit(small, y[:50])
clf = SORCTClassifier({depth}, {alpha}, loss="log", random_state=0)
clock = Clock()
clf.fit(X[:n], y[:n])
told = clock.read()
told["megabytes"] = round(status("VmHWM"))
told["accuracy"] = round(clf.score(X[n:], y[n:]), 4)
told["objective"], told["used"] = clf.objective_, len(clf.tree_.encoder.names)
print(told)
"""
)
PREDICT = (
    CLOCK
    + """
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from sorct import SORCTClassifier
from sorct.datasets import make_planted_tree
from lightgbm import LGBMClassifier
data = make_planted_tree({n}, {p}, {depth}, {classes}, 3, random_state=0)
X, few = data.X, slice(0, {train})
by_columns = np.asfortranarray(X)
dense = SORCTClassifier({options}).fit(X[few], data.y[few])
sparse = SORCTClassifier({depth}, alpha_local=1.0, random_state=0)
sparse.fit(X[few], data.y[few])
boosted = LGBMClassifier(n_jobs=os.cpu_count(), verbose=-1)
boosted.fit(X[few], data.y[few])
used = [int(name[1:]) for name in sparse.tree_.variables_used]
parts = np.array_split(X, 8)

def sum_by_all():
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(np.sum, parts))

def in_turn(works, n_times):
    # Least seconds of every work, and least processor seconds.
    told = {{name: [] for name in works}}
    for _ in range(n_times):
        for name, work in works.items():
            clock = Clock()
            work()
            told[name].append(clock.read(digits=4))
    return {{
        name: {{key: min(one[key] for one in lines) for key in lines[0]}}
        for name, lines in told.items()
    }}

def about(clf):
    right = round(float((clf.predict(X) == data.y_clean).mean()), 4)
    tree = getattr(clf, "tree_", None)
    return dict(accuracy=right, used=len(tree.variables_used) if tree else "")

told = in_turn({{
    "sorct, all columns": lambda: dense.predict(X),
    "sorct, few columns": lambda: sparse.predict(X),
    "sorct, column by column": lambda: dense.predict(by_columns),
    "sum of all cells": lambda: X.sum(),
    "sum of all cells, all cores": sum_by_all,
}}, 25)
told |= in_turn({{
    "copy the used columns": lambda: np.ascontiguousarray(X[:, used]),
    "sum of the used columns": lambda: X[:, used].sum(),
}}, 3)
told |= in_turn({{"LightGBM, 100 trees": lambda: boosted.predict(X)}}, 1)
told["sorct, all columns"] |= about(dense)
told["sorct, few columns"] |= about(sparse)
told["LightGBM, 100 trees"] |= about(boosted)
print(told)
"""
)
LIMITED = (
    CLOCK
    + """
import numpy as np
import pandas as pd
from sorct import SORCTClassifier
rng = np.random.default_rng(0)
n, p, classes, levels = {n}, {p}, {classes}, {levels}
X = rng.normal(size=(n, p))
y = np.argmax(X[:, :20] @ rng.normal(size=(min(p, 20), classes)), axis=1)
if levels:
    X = pd.DataFrame(X, columns=[f"x{{j}}" for j in range(p)])
    place = rng.integers(0, levels, n)
    X["level"] = pd.Categorical.from_codes(place, [f"L{{i}}" for i in range(levels)])
    y = (rng.normal(size=levels)[place] + X["x0"].to_numpy() > 0).astype(int)
SORCTClassifier(1, n_starts=1).fit(rng.normal(size=(50, 2)), np.arange(50) % 2)
before = status("VmRSS")
clf = SORCTClassifier({options}, time_limit={limit})
clock = Clock()
clf.fit(X, y)
told = clock.read()
told["megabytes"] = round(status("VmHWM") - before)
told["accuracy"] = round(float((clf.predict(X) == y).mean()), 4)
told["passes"], told["objective"] = clf.n_passes_, clf.objective_
print(told)
"""
)
