/* ---- Columns of counts with a Poisson distribution, under Gamma priors of its mean ---- */

static int poisson_accepts(const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_POISSONS; j++)
        if (!mapdp_is_count(x[poisson_place[j]]))
            return 0;
    return 1;
}

/* Return the log probability of a large count by how far it is from where it is expected (Loader 2000). */
static mapdp_real poisson_log_many(mapdp_real shape, mapdp_real rate, mapdp_real count)
{
    mapdp_real lost;
    const mapdp_real p = mapdp_two_product(count, rate, &lost);
    const mapdp_real beyond = ((p - shape) + lost) / (rate + R(1.0));
    const mapdp_real expected = (shape + count) / (rate + R(1.0));
    const mapdp_real far = mapdp_deviance(shape, rate * expected, beyond) + mapdp_deviance(count, expected, -beyond);
    const mapdp_real near = mapdp_beyond_stirling(shape + count) - mapdp_beyond_stirling(shape)
                            - mapdp_beyond_stirling(count);
    return near - far - mapdp_log1p(count / shape);
}

static mapdp_real poisson_log_predictive(const mapdp_chair *chair, const mapdp_real *x)
{
    const mapdp_poisson_predictive *p = &chair->predictive.poisson;
    mapdp_real total = R(0.0), product = R(1.0);
    int j, i;
    for (j = 0; j < MAPDP_POISSONS; j++) {
        const mapdp_real v = x[poisson_place[j]];
        if (v != v)
            continue;
        if (v > R(16.0)) {
            total += poisson_log_many(p->shape[j], p->rate[j], v);
            continue;
        }
        total += p->log_none[j];   /* of the count 0; each further count is so many times as probable */
        for (i = 0; i < (int)v; i++) {
            product *= (p->shape[j] + (mapdp_real)i) / ((p->rate[j] + R(1.0)) * (mapdp_real)(i + 1));
            if (product > R(1e15) || product < R(1e-15)) {
                total += mapdp_log(product);
                product = R(1.0);
            }
        }
    }
    return total + mapdp_log(product);
}

