static mapdp_real gaussian_mean(const mapdp_chair *chair, int j)   /* m = s / (c0 + n), from the prior mean */
{
    const mapdp_gaussian_sums *sums = &chair->sums.gaussian;
    return sums->sum[j] / (gaussian_strength[j] + sums->n[j]);
}

static mapdp_real gaussian_power(const mapdp_chair *chair, int j)   /* a + 1/2 */
{
    return gaussian_shape[j] + R(0.5) * (chair->sums.gaussian.n[j] + R(1.0));
}

