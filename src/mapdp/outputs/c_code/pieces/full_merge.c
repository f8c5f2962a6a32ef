static void full_pour(mapdp_full_sums *into, const mapdp_full_sums *from)
{
    int i;
    for (i = 0; i < MAPDP_FEATURES; i++)
        mapdp_add(&into->sum[i], &into->sum_low[i], from->sum[i], from->sum_low[i]);
    for (i = 0; i < MAPDP_TRIANGLE; i++)
        mapdp_add(&into->product[i], &into->product_low[i], from->product[i], from->product_low[i]);
    into->n[0] += from->n[0];
}

static mapdp_real full_log_marginal(const mapdp_full_sums *sums)
{
    const mapdp_real n = sums->n[0], d = (mapdp_real)MAPDP_FEATURES;
    mapdp_real factor[MAPDP_TRIANGLE], total;
    int i;
    total = R(0.5) * full_dof[0] * full_log_prior_det[0]
            - R(0.5) * (full_dof[0] + n) * full_scale(sums, n, factor)
            - R(0.5) * d * (n * R(1.1447298858494002) + mapdp_log1p(n / full_strength[0]));
    for (i = 0; i < MAPDP_FEATURES; i++)
        total += mapdp_log_rising(R(0.5) * (full_dof[0] - (mapdp_real)i), R(0.5) * n);
    return total;
}

