static void gaussian_insert(mapdp_gaussian_sums *sums, const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_GAUSSIANS; j++) {
        const mapdp_real v = x[gaussian_place[j]];
        mapdp_real square, lost;
        if (v != v)
            continue;
        sums->n[j] += R(1.0);
        square = mapdp_two_product(v, v, &lost);
        mapdp_add(&sums->sum[j], &sums->sum_low[j], v, R(0.0));
        mapdp_add(&sums->square[j], &sums->square_low[j], square, lost);
    }
}

/* Return b / b0 - 1 of a column (paper, eq. for b_k, with m0 as the origin). */
static mapdp_real gaussian_growth(const mapdp_gaussian_sums *sums, int j)
{
    const mapdp_real n = sums->n[j], s = sums->sum[j], low = sums->sum_low[j];
    mapdp_real squares;
    if (n <= R(0.0))
        return R(0.0);
    squares = mapdp_about_means(s, low, s, low, sums->square[j], sums->square_low[j], n);
    squares = squares > R(0.0) ? squares : R(0.0);
    squares += gaussian_strength[j] / (gaussian_strength[j] + n) * s * (s / n);
    return (R(0.5) * squares + n * gaussian_blur[j]) / gaussian_rate[j];
}

static void gaussian_refresh(mapdp_chair *chair)
{
    const mapdp_gaussian_sums *sums = &chair->sums.gaussian;
    mapdp_gaussian_predictive *p = &chair->predictive.gaussian;
    mapdp_real half_step = R(0.0), last_shape = R(-1.0);
    int j;
    for (j = 0; j < MAPDP_GAUSSIANS; j++) {
        const mapdp_real c = gaussian_strength[j] + sums->n[j];
        const mapdp_real a = gaussian_shape[j] + R(0.5) * sums->n[j];
        const mapdp_real b = gaussian_rate[j] * (R(1.0) + gaussian_growth(sums, j));
        const mapdp_real blurred = b + gaussian_blur[j], share = c / (c + R(1.0));
        if (a != last_shape) {   /* columns that have seen the same rows share it */
            half_step = mapdp_half_step(a);
            last_shape = a;
        }
        p->weight[j] = R(0.5) * share / blurred;
        p->peak[j] = half_step + R(0.5) * mapdp_log(share / blurred) - R(0.9189385332046727)
                     - a * mapdp_log1p(gaussian_blur[j] / b);
    }
}

static int gaussian_is_sound(const mapdp_gaussian_sums *sums, mapdp_real most)
{
    int j;
    for (j = 0; j < MAPDP_GAUSSIANS; j++) {
        const mapdp_real far = most * gaussian_reach[j];
        if (!(sums->n[j] >= R(0.0) && sums->n[j] <= most && sums->square[j] >= R(0.0)
              && mapdp_is_within(sums->sum[j], sums->sum_low[j], far)
              && mapdp_is_within(sums->square[j], sums->square_low[j], far * gaussian_reach[j])))
            return 0;
    }
    return 1;
}

