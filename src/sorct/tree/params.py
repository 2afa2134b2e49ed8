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

from dataclasses import dataclass

from sorct._typing import FloatArray, IntArray


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
    """

    coef: FloatArray
    threshold: FloatArray
    leaf_class: IntArray
    leaf_proba: FloatArray | None = None
