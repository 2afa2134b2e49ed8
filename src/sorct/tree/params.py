"""Params: the decision variables of one tree, in scaled units.

The paper's letters and the words used in code, docs and reports:

====================  ==================  =====================  =====================
paper                 code                paper                  code
====================  ==================  =====================  =====================
a_jt                  ``coef[j, t]``      p B lambda^L, p lambda^G  ``alpha_local``, ``alpha_global``
mu_t                  ``threshold[t]``    rho_k                  ``min_recall[k]``
C_kt (0/1)            ``leaf_class[t]``   W                      ``cost_matrix``
p_it, P_it            ``branch_proba``,   gamma                  ``gamma``
                      ``leaf_reach``
tau_B, tau_L          ``n_branches``,     D                      ``depth``
                      ``n_leaves``
====================  ==================  =====================  =====================
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sorct._typing import FloatArray, IntArray

#: Share of the loss of a row that a leaf drawn at random pays instead of the mean of
#: all leaves, where a quantity is predicted; see ``problem/residual.py``.
MIXED = 0.1


@dataclass(frozen=True)
class Params:
    """Cuts and leaf labels.

    Attributes
    ----------
    coef : array of shape (n_features, n_branches), in [-1, 1]
    threshold : array of shape (n_branches,), in [-1, 1]
    leaf_class : array of shape (n_leaves,), codes of the classes
    leaf_proba : array of shape (n_classes, n_leaves) or None
        Distribution of the classes in every leaf, if leaves have one; where they have
        none a leaf says its class with probability 1.
    leaf_value : array of shape (n_leaves,) or None
        What every leaf says of a quantity, where one is predicted: in spreads of the
        quantity around its centre, for a sample whose columns are all 0.
    leaf_coef : array of shape (n_features, n_leaves) or None
        Slopes of linear leaves, in the unit of ``problem/residual.py``.
    """

    coef: FloatArray
    threshold: FloatArray
    leaf_class: IntArray
    leaf_proba: FloatArray | None = None
    leaf_value: FloatArray | None = None
    leaf_coef: FloatArray | None = None

    def flattened(self, share: float) -> Params:
        """The same with a share of every coefficient and threshold of its cuts."""
        coef, threshold = share * self.coef, share * self.threshold
        return replace(self, coef=coef, threshold=threshold)

    @property
    def penalised(self) -> FloatArray:
        """Everything that penalties see: coefficients of cuts, then of leaves."""
        if self.leaf_coef is None:
            return self.coef
        return np.hstack([self.coef, self.leaf_coef])
