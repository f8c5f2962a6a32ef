static void gaussian_pour(mapdp_gaussian_sums *into, const mapdp_gaussian_sums *from)
{
    int j;
    for (j = 0; j < MAPDP_GAUSSIANS; j++) {
        into->n[j] += from->n[j];
        mapdp_add(&into->sum[j], &into->sum_low[j], from->sum[j], from->sum_low[j]);
        mapdp_add(&into->square[j], &into->square_low[j], from->square[j], from->square_low[j]);
    }
}

static mapdp_real gaussian_log_marginal(const mapdp_gaussian_sums *sums)
{
    mapdp_real total = R(0.0), level = R(0.0), last_n = R(-1.0);
    int j;
    for (j = 0; j < MAPDP_GAUSSIANS; j++) {
        const mapdp_real n = sums->n[j], a = gaussian_shape[j], c = gaussian_strength[j];
        if (n != last_n || !MAPDP_GAUSSIANS_SHARE_PRIOR)
            level = mapdp_log_rising(a, R(0.5) * n) - R(0.5) * mapdp_log1p(n / c) - n * R(0.9189385332046727);
        last_n = n;
        total += level - R(0.5) * n * gaussian_log_rate[j]
                 - (a + R(0.5) * n) * mapdp_log1p(gaussian_growth(sums, j));
    }
    return total;
}

