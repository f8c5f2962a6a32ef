static void poisson_insert(mapdp_poisson_sums *sums, const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_POISSONS; j++) {
        const mapdp_real v = x[poisson_place[j]];
        if (v != v)
            continue;
        sums->n[j] += R(1.0);
        mapdp_add(&sums->total[j], &sums->total_low[j], v, R(0.0));
        mapdp_add(&sums->orders[j], &sums->orders_low[j], -mapdp_log_rising(R(1.0), v), R(0.0));
    }
}

static void poisson_pour(mapdp_poisson_sums *into, const mapdp_poisson_sums *from)
{
    int j;
    for (j = 0; j < MAPDP_POISSONS; j++) {
        into->n[j] += from->n[j];
        mapdp_add(&into->total[j], &into->total_low[j], from->total[j], from->total_low[j]);
        mapdp_add(&into->orders[j], &into->orders_low[j], from->orders[j], from->orders_low[j]);
    }
}

static void poisson_refresh(mapdp_chair *chair)
{
    mapdp_poisson_predictive *p = &chair->predictive.poisson;
    int j;
    for (j = 0; j < MAPDP_POISSONS; j++) {
        p->shape[j] = poisson_shape[j] + chair->sums.poisson.total[j];
        p->rate[j] = poisson_rate[j] + chair->sums.poisson.n[j];
        p->log_none[j] = -p->shape[j] * mapdp_log1p(R(1.0) / p->rate[j]);
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

