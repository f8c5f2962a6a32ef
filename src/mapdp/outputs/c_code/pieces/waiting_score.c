/* ---- Columns of failures before so many successes (negative binomial), under Beta priors of the chance ---- */

static int waiting_accepts(const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_WAITINGS; j++)
        if (!mapdp_is_count(x[waiting_place[j]]))
            return 0;
    return 1;
}

/* Return the log probability of a large count by how far it is from where it is expected (Loader 2000). */
static mapdp_real waiting_log_many(mapdp_real a, mapdp_real b, mapdp_real successes, mapdp_real failures)
{
    const mapdp_real n = successes + failures, both = a + b;
    const mapdp_real chance = (a + successes) / (both + n), other = (b + failures) / (both + n);
    mapdp_real p_low, q_low, beyond, far, near;
    const mapdp_real p = mapdp_two_product(successes, b, &p_low), q = mapdp_two_product(failures, a, &q_low);
    beyond = ((p - q) + (p_low - q_low)) / (both + n);
    far = mapdp_deviance(successes, n * chance, -beyond) + mapdp_deviance(failures, n * other, beyond)
          + mapdp_deviance(a, both * chance, beyond) + mapdp_deviance(b, both * other, -beyond);
    near = mapdp_beyond_stirling(n) - mapdp_beyond_stirling(successes) - mapdp_beyond_stirling(failures)
           + mapdp_beyond_stirling(both) - mapdp_beyond_stirling(a) - mapdp_beyond_stirling(b)
           + mapdp_beyond_stirling(a + successes) + mapdp_beyond_stirling(b + failures)
           - mapdp_beyond_stirling(both + n);
    return near - far + mapdp_log(a / (a + successes)) + mapdp_log(b / (b + failures)) + mapdp_log1p(n / both)
           + mapdp_log(successes / n);   /* a success comes last */
}

static mapdp_real waiting_log_predictive(const mapdp_chair *chair, const mapdp_real *x)
{
    const mapdp_waiting_predictive *p = &chair->predictive.waiting;
    mapdp_real total = R(0.0), product = R(1.0);
    int j, i;
    for (j = 0; j < MAPDP_WAITINGS; j++) {
        const mapdp_real v = x[waiting_place[j]], a = p->success[j], b = p->failure[j], r = waiting_successes[j];
        if (v != v)
            continue;
        if (v > R(16.0)) {
            total += waiting_log_many(a, b, r, v);
            continue;
        }
        total += p->log_none[j];   /* of the count 0; each further count is so many times as probable */
        for (i = 0; i < (int)v; i++) {
            const mapdp_real t = (mapdp_real)i;
            product *= (r + t) / (t + R(1.0)) * ((b + t) / (a + b + r + t));
            if (product > R(1e15) || product < R(1e-15)) {
                total += mapdp_log(product);
                product = R(1.0);
            }
        }
    }
    return total + mapdp_log(product);
}

