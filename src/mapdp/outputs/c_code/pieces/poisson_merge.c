static void poisson_pour(mapdp_poisson_sums *into, const mapdp_poisson_sums *from)
{
    int j;
    for (j = 0; j < MAPDP_POISSONS; j++) {
        into->n[j] += from->n[j];
        mapdp_add(&into->total[j], &into->total_low[j], from->total[j], from->total_low[j]);
        mapdp_add(&into->orders[j], &into->orders_low[j], from->orders[j], from->orders_low[j]);
    }
}

/* What counts of the same rows have in common however they are shared out, log x!, is left out. */
static mapdp_real poisson_log_marginal(const mapdp_poisson_sums *sums)
{
    mapdp_real total = R(0.0);
    int j;
    for (j = 0; j < MAPDP_POISSONS; j++) {
        const mapdp_real rate = poisson_rate[j] + sums->n[j];
        total += mapdp_log_rising(poisson_shape[j], sums->total[j]) - sums->total[j] * mapdp_log(rate);
        total -= poisson_shape[j] * mapdp_log1p(sums->n[j] / poisson_rate[j]);
    }
    return total;
}

