"""Compare: CART, L1 logistic regression and our tree on the same folds."""
