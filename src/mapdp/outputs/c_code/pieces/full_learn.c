static void full_insert(mapdp_full_sums *sums, const mapdp_real *x)
{
    int i, j;
    for (i = 0; i < MAPDP_FEATURES; i++) {
        mapdp_add(&sums->sum[i], &sums->sum_low[i], x[i], R(0.0));
        for (j = 0; j <= i; j++) {
            mapdp_real lost;
            const mapdp_real product = mapdp_two_product(x[i], x[j], &lost);
            mapdp_add(&sums->product[full_at(i, j)], &sums->product_low[full_at(i, j)], product, lost);
        }
    }
    sums->n[0] += R(1.0);
}

/* Write the L D L' of the posterior scale, with the rounding of so many rows, and return its log determinant. */
static mapdp_real full_scale(const mapdp_full_sums *sums, mapdp_real n_rounded, mapdp_real *factor)
{
    const mapdp_real n = sums->n[0], pull = full_strength[0] / (full_strength[0] + n);
    const mapdp_real *s = sums->sum, *low = sums->sum_low;
    int i, j;
    for (i = 0; i < MAPDP_FEATURES; i++) {
        for (j = 0; j <= i; j++) {
            const int at = full_at(i, j);
            factor[at] = full_prior_scale[at];
            if (n > R(0.0))
                factor[at] += mapdp_about_means(s[i], low[i], s[j], low[j], sums->product[at],
                                                sums->product_low[at], n) + pull * s[i] * (s[j] / n);
        }
        factor[full_at(i, i)] += n_rounded * full_rounding[i];
    }
    full_factorise(factor, MAPDP_FEATURES, NULL);
    return full_log_det(factor, MAPDP_FEATURES);
}

static void full_refresh(mapdp_chair *chair)
{
    const mapdp_full_sums *sums = &chair->sums.full;
    mapdp_full_predictive *p = &chair->predictive.full;
    const mapdp_real n = sums->n[0], c = full_strength[0] + n, dof = full_dof[0] + n;
    mapdp_real log_det, fall;
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++)
        p->mean[j] = sums->sum[j] / c;
    p->dof[0] = dof;
    p->share[0] = c / (c + R(1.0));
    log_det = full_scale(sums, n, p->factor);
    fall = -R(0.5) * dof * log_det;
    fall += R(0.5) * (dof + R(1.0)) * full_scale(sums, n + R(1.0), p->factor);   /* a new row is rounded, too */
    p->peak[0] = full_level(dof, p->share[0], (mapdp_real)MAPDP_FEATURES) - fall;
}

static int full_is_sound(const mapdp_full_sums *sums, mapdp_real most)
{
    int i, j;
    for (i = 0; i < MAPDP_FEATURES; i++) {
        const mapdp_real far = most * full_reach[i];
        if (!(sums->product[full_at(i, i)] >= R(0.0) && mapdp_is_within(sums->sum[i], sums->sum_low[i], far)))
            return 0;
        for (j = 0; j <= i; j++)
            if (!mapdp_is_within(sums->product[full_at(i, j)], sums->product_low[full_at(i, j)], far * full_reach[j]))
                return 0;
    }
    return sums->n[0] >= R(0.0) && sums->n[0] <= most;
}

