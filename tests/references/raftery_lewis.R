# Writes raftery_lewis.csv, what R's coda says of chains that tests/test_diagnostics.py makes in the same way.
#
#     apt-get install r-cran-coda
#     Rscript tests/references/raftery_lewis.R > tests/references/raftery_lewis.csv
#
# The numbers come from a congruential generator (16807, 2^31 - 1), which doubles hold exactly, so no chain needs
# to be stored.
suppressMessages(library(coda))

chain_of <- function(n, rho, steps) {
  seed <- 12345
  x <- numeric(n)
  last <- 0
  for (t in seq_len(n)) {
    seed <- (16807 * seed) %% 2147483647
    last <- rho * last + (seed / 2147483647 - 0.5)
    x[t] <- if (steps > 0) floor(steps * last) else last
  }
  x
}

cases <- rbind(
  expand.grid(n = c(937, 2000, 5000), rho = c(0, 0.5, 0.9, 0.98), steps = c(0, 4), q = 0.025, r = 0.01, s = 0.95),
  expand.grid(n = c(3746, 20000), rho = c(0, 0.9), steps = 0, q = 0.025, r = 0.005, s = 0.95),
  expand.grid(n = c(500, 3000), rho = c(0, 0.8, 0.95), steps = c(0, 3), q = 0.025, r = 0.1, s = 0.95),
  expand.grid(n = c(1700, 6000), rho = c(-0.6, 0.7), steps = c(0, 10), q = 0.5, r = 0.02, s = 0.9)
)
cat("n,rho,steps,q,r,s,burn_in,total,n_min,dependence\n")
for (i in seq_len(nrow(cases))) {
  case <- cases[i, ]
  chain <- mcmc(chain_of(case$n, case$rho, case$steps))
  found <- raftery.diag(chain, q = case$q, r = case$r, s = case$s)$resmatrix
  cat(unlist(case), sprintf("%.12g", found), sep = ",")
  cat("\n")
}
