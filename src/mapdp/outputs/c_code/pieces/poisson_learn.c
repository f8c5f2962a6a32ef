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

static int poisson_is_sound(const mapdp_poisson_sums *sums, mapdp_real most)
{
    int j;
    for (j = 0; j < MAPDP_POISSONS; j++)
        if (!(sums->n[j] >= R(0.0) && sums->n[j] <= most && sums->total[j] >= R(0.0)
              && mapdp_is_within(sums->total[j], sums->total_low[j], most * R($largest_count))
              && mapdp_is_within(sums->orders[j], sums->orders_low[j], most * R(1e20))))
            return 0;
    return 1;
}

