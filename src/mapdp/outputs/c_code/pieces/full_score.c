/* ---- Gaussian clusters with a full covariance matrix: the predictive is a Student t of several columns ----
 * Matrices are lower triangles, row by row. A scale is kept as L D L': L below the diagonal, D on it. */

static int full_at(int i, int j)
{
    return i * (i + 1) / 2 + j;
}

static int full_accepts(const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++)
        if (x[j] < -full_reach[j] || x[j] > full_reach[j])   /* a gap, NaN, is neither */
            return 0;
    return 1;
}

/* Replace a matrix of n rows, those of the columns that were seen, by its L D L'. A scale never falls below its
 * prior's, so a pivot that rounding pushed lower is lifted back. */
static void full_factorise(mapdp_real *m, int n, const int *seen)
{
    int i, j, p;
    for (i = 0; i < n; i++)
        for (j = 0; j <= i; j++) {
            mapdp_real total = m[full_at(i, j)];
            for (p = 0; p < j; p++)
                total -= m[full_at(i, p)] * m[full_at(j, p)] * m[full_at(p, p)];
            if (i > j)
                m[full_at(i, j)] = total / m[full_at(j, j)];
            else {
                const mapdp_real least = full_pivot[seen ? seen[i] : i];
                m[full_at(i, i)] = total > least ? total : least;
            }
        }
}

static mapdp_real full_log_det(const mapdp_real *factor, int n)
{
    mapdp_real total = R(0.0);
    int i;
    for (i = 0; i < n; i++)
        total += mapdp_log(factor[full_at(i, i)]);
    return total;
}

/* Return the squared length of a residual of n cells in units of a scale; the residual is used up. */
static mapdp_real full_squared_length(const mapdp_real *factor, mapdp_real *residual, int n)
{
    mapdp_real total = R(0.0);
    int i, j;
    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++)
            residual[i] -= factor[full_at(i, j)] * residual[j];
        total += residual[i] * residual[i] / factor[full_at(i, i)];
    }
    return total;
}

/* Return the log density at the centre, but for the scale; dof is that of so many columns. */
static mapdp_real full_level(mapdp_real dof, mapdp_real share, mapdp_real n)
{
    return mapdp_log_rising(R(0.5) * (dof + R(1.0) - n), R(0.5) * n)
           + R(0.5) * n * (mapdp_log(share) - R(1.1447298858494002));
}

/* Write the L D L' of the columns that were seen to `factor`, and return its log determinant; each column's
 * variance is less by `times` the variance of its rounding error. */
static mapdp_real full_among(const mapdp_chair *chair, const int *seen, int n, mapdp_real times, mapdp_real *factor)
{
    const mapdp_real *whole = chair->predictive.full.factor;
    int i, j, p;
    for (i = 0; i < n; i++) {
        for (j = 0; j <= i; j++) {
            mapdp_real total = R(0.0);
            for (p = 0; p <= seen[j]; p++)
                total += (p < seen[i] ? whole[full_at(seen[i], p)] : R(1.0))
                         * (p < seen[j] ? whole[full_at(seen[j], p)] : R(1.0)) * whole[full_at(p, p)];
            factor[full_at(i, j)] = total;
        }
        factor[full_at(i, i)] -= times * full_rounding[seen[i]];
    }
    full_factorise(factor, n, seen);
    return full_log_det(factor, n);
}

/* Score a row with gaps: the Student t of the columns that were seen. */
static mapdp_real full_log_seen(const mapdp_chair *chair, const mapdp_real *x)
{
    const mapdp_full_predictive *p = &chair->predictive.full;
    mapdp_real factor[MAPDP_TRIANGLE], residual[MAPDP_FEATURES], dof, fall, log_det;
    int seen[MAPDP_FEATURES], n = 0, j;
    for (j = 0; j < MAPDP_FEATURES; j++)
        if (x[j] == x[j]) {
            residual[n] = x[j] - p->mean[j];
            seen[n++] = j;
        }
    if (n == 0)
        return R(0.0);
    dof = p->dof[0] - (mapdp_real)(MAPDP_FEATURES - n);
    fall = -R(0.5) * dof * full_among(chair, seen, n, R(1.0), factor);
    log_det = full_among(chair, seen, n, R(0.0), factor);
    fall += R(0.5) * (dof + R(1.0)) * log_det;
    return full_level(dof, p->share[0], (mapdp_real)n) - fall
           - R(0.5) * (dof + R(1.0)) * mapdp_log1p(p->share[0] * full_squared_length(factor, residual, n));
}

static mapdp_real full_log_predictive(const mapdp_chair *chair, const mapdp_real *x)
{
    const mapdp_full_predictive *p = &chair->predictive.full;
    mapdp_real residual[MAPDP_FEATURES];
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++) {
        if (x[j] != x[j])
            return full_log_seen(chair, x);
        residual[j] = x[j] - p->mean[j];
    }
    return p->peak[0] - R(0.5) * (p->dof[0] + R(1.0))
                        * mapdp_log1p(p->share[0] * full_squared_length(p->factor, residual, MAPDP_FEATURES));
}

