/* ---- Gaussian columns: mean and variance unknown, the predictive is a Student t (paper, eq. for b_k) ---- */

static int gaussian_accepts(const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_GAUSSIANS; j++) {
        const mapdp_real v = x[gaussian_place[j]];
        if (v < -gaussian_reach[j] || v > gaussian_reach[j])   /* a gap, NaN, is neither */
            return 0;
    }
    return 1;
}

static mapdp_real gaussian_log_predictive(const mapdp_chair *chair, const mapdp_real *x)
{
    const mapdp_gaussian_predictive *p = &chair->predictive.gaussian;
    mapdp_real total = R(0.0), power = R(0.0);
    mapdp_real product = R(0.0);   /* of 1 + weight (x - m)^2 over columns, less 1: one logarithm serves all */
    int j;
    for (j = 0; j < MAPDP_GAUSSIANS; j++) {
        const mapdp_real v = x[gaussian_place[j]], own_power = gaussian_power(chair, j);
        mapdp_real residual, factor;
        if (v != v)   /* a gap */
            continue;
        if (own_power != power || product > R(1e15)) {
            total -= power * mapdp_log1p(product);
            product = R(0.0);
            power = own_power;
        }
        residual = v - gaussian_mean(chair, j);
        factor = p->weight[j] * residual * residual;
        product += factor + product * factor;
        total += p->peak[j];
    }
    return total - power * mapdp_log1p(product);
}

