/* ---- Round Gaussian clusters: one unknown variance for all columns, each in its own unit ---- */

static int sphere_accepts(const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++) {
        if (x[j] < -sphere_reach[j] || x[j] > sphere_reach[j])
            return 0;
        if (x[j] != x[j] && !MAPDP_SPHERES_HAVE_GAPS)   /* clusters of a common shape need every cell */
            return 0;
    }
    return 1;
}

/* Return the log density at the centre of n_seen columns whose log variances have this sum. */
static mapdp_real sphere_log_peak(const mapdp_chair *chair, mapdp_real n_seen, mapdp_real blur, mapdp_real log_variances)
{
    const mapdp_sphere_predictive *p = &chair->predictive.sphere;
    const mapdp_real blurred = p->rate[0] + blur;
    return mapdp_log_rising(p->shape[0], R(0.5) * n_seen)
           + R(0.5) * n_seen * (mapdp_log(p->share[0] / blurred) - R(1.8378770664093453))
           - R(0.5) * log_variances - p->shape[0] * mapdp_log1p(blur / p->rate[0]);
}

static mapdp_real sphere_log_predictive(const mapdp_chair *chair, const mapdp_real *x)
{
    const mapdp_sphere_predictive *p = &chair->predictive.sphere;
    mapdp_real distance = R(0.0), n_seen = R(0.0), blur = R(0.0), log_variances = R(0.0), peak = p->peak[0];
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++) {
        const mapdp_real residual = x[j] - p->mean[j];
        if (x[j] != x[j])
            continue;
        distance += sphere_precision[j] * residual * residual;
        n_seen += R(1.0);
        blur += sphere_blur[j];
        log_variances += sphere_log_variance[j];
    }
    if (n_seen < (mapdp_real)MAPDP_FEATURES)
        peak = sphere_log_peak(chair, n_seen, blur, log_variances);
    return peak - (p->shape[0] + R(0.5) * n_seen)
                  * mapdp_log1p(R(0.5) * p->share[0] / (p->rate[0] + blur) * distance);
}

