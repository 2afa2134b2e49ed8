# CART by rpart, all settings at their defaults: Rscript --vanilla rpart.R FOLDER
#
# For every FOLDER/<k>.in: little-endian doubles n_train, n_test, p, the training matrix
# by columns, its labels, the test matrix by columns. Writes FOLDER/<k>.out: seconds of
# the fit, for each column 1 if some split uses it, the predicted labels; and
# FOLDER/<k>.prob: the number of splits, the probabilities of the test rows by classes.
library(rpart)

columns <- function(values, n, p) {
  frame <- as.data.frame(matrix(values, n, p))
  names(frame) <- paste0("x", seq_len(p))
  frame
}

fit <- function(path) {
  doubles <- readBin(path, "double", file.size(path) / 8, endian = "little")
  n <- doubles[1]; n_test <- doubles[2]; p <- doubles[3]
  stopifnot(length(doubles) == 3 + n * p + n + n_test * p)
  train <- columns(doubles[3 + seq_len(n * p)], n, p)
  train$y <- factor(doubles[3 + n * p + seq_len(n)])
  test <- columns(doubles[3 + n * p + n + seq_len(n_test * p)], n_test, p)

  begun <- Sys.time()
  tree <- rpart(y ~ ., data = train, method = "class")
  seconds <- as.numeric(difftime(Sys.time(), begun, units = "secs"))

  used <- names(test) %in% as.character(tree$frame$var)
  labels <- as.numeric(as.character(predict(tree, test, type = "class")))
  writeBin(c(seconds, as.numeric(used), labels), sub("[.]in$", ".out", path),
           endian = "little")
  cuts <- sum(tree$frame$var != "<leaf>")
  writeBin(c(cuts, as.numeric(predict(tree, test, type = "prob"))),
           sub("[.]in$", ".prob", path), endian = "little")
}

folder <- commandArgs(trailingOnly = TRUE)[1]
for (path in list.files(folder, "[.]in$", full.names = TRUE)) fit(path)
