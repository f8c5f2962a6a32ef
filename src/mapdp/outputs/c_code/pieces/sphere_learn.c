static void sphere_insert(mapdp_sphere_sums *sums, const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++) {
        mapdp_real lost;
        const mapdp_real square = mapdp_two_product(x[j], x[j], &lost);
        mapdp_add(&sums->sum[j], &sums->sum_low[j], x[j], R(0.0));
        mapdp_add(&sums->square[j], &sums->square_low[j], square, lost);
    }
    sums->n[0] += R(1.0);
}

/* Return the posterior rate less the prior's: half the squares about the posterior mean, and rounding. */
static mapdp_real sphere_growth(const mapdp_sphere_sums *sums)
{
    const mapdp_real n = sums->n[0], pull = sphere_strength[0] / (sphere_strength[0] + n);
    mapdp_real total = R(0.0);
    int j;
    if (n <= R(0.0))
        return R(0.0);
    for (j = 0; j < MAPDP_FEATURES; j++) {
        const mapdp_real s = sums->sum[j], low = sums->sum_low[j];
        mapdp_real squares = mapdp_about_means(s, low, s, low, sums->square[j], sums->square_low[j], n);
        squares = squares > R(0.0) ? squares : R(0.0);
        total += R(0.5) * sphere_precision[j] * (squares + pull * s * (s / n)) + n * sphere_blur[j];
    }
    return total;
}

static void sphere_refresh(mapdp_chair *chair)
{
    const mapdp_sphere_sums *sums = &chair->sums.sphere;
    mapdp_sphere_predictive *p = &chair->predictive.sphere;
    const mapdp_real c = sphere_strength[0] + sums->n[0], d = (mapdp_real)MAPDP_FEATURES;
    mapdp_real blur = R(0.0), log_variances = R(0.0);
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++) {
        p->mean[j] = sums->sum[j] / c;
        blur += sphere_blur[j];
        log_variances += sphere_log_variance[j];
    }
    p->shape[0] = sphere_shape[0] + R(0.5) * d * sums->n[0];
    p->rate[0] = sphere_rate[0] + sphere_growth(sums);
    p->share[0] = c / (c + R(1.0));
    p->peak[0] = sphere_log_peak(chair, d, blur, log_variances);
}

static int sphere_is_sound(const mapdp_sphere_sums *sums, mapdp_real most)
{
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++) {
        const mapdp_real far = most * sphere_reach[j];
        if (!(sums->square[j] >= R(0.0) && mapdp_is_within(sums->sum[j], sums->sum_low[j], far)
              && mapdp_is_within(sums->square[j], sums->square_low[j], far * sphere_reach[j])))
            return 0;
    }
    return sums->n[0] >= R(0.0) && sums->n[0] <= most;
}

