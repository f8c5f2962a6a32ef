static void sphere_pour(mapdp_sphere_sums *into, const mapdp_sphere_sums *from)
{
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++) {
        mapdp_add(&into->sum[j], &into->sum_low[j], from->sum[j], from->sum_low[j]);
        mapdp_add(&into->square[j], &into->square_low[j], from->square[j], from->square_low[j]);
    }
    into->n[0] += from->n[0];
}

static mapdp_real sphere_log_marginal(const mapdp_sphere_sums *sums)
{
    const mapdp_real n = sums->n[0], d = (mapdp_real)MAPDP_FEATURES;
    mapdp_real log_variances = R(0.0);
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++)
        log_variances += sphere_log_variance[j];
    return mapdp_log_rising(sphere_shape[0], R(0.5) * d * n) - R(0.5) * n * log_variances
           - R(0.5) * d * (n * (R(1.8378770664093453) + sphere_log_rate[0]) + mapdp_log1p(n / sphere_strength[0]))
           - (sphere_shape[0] + R(0.5) * d * n) * mapdp_log1p(sphere_growth(sums) / sphere_rate[0]);
}

