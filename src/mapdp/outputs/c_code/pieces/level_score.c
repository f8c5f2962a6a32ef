/* ---- Columns of levels, whose codes count from 0, under Dirichlet priors ---- */

static int level_accepts(const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_LEVEL_COLUMNS; j++) {
        const mapdp_real v = x[level_place[j]];
        const mapdp_real n_levels = (mapdp_real)(level_first[j + 1] - level_first[j]);
        if (v != v)   /* a gap */
            continue;
        if (!(v >= R(0.0) && v < n_levels) || (mapdp_real)(int)v != v)
            return 0;
    }
    return 1;
}

static mapdp_real level_log_predictive(const mapdp_chair *chair, const mapdp_real *x)
{
    mapdp_real total = R(0.0);
    int j;
    for (j = 0; j < MAPDP_LEVEL_COLUMNS; j++) {
        const mapdp_real v = x[level_place[j]];
        if (v == v)
            total += chair->predictive.level.log_chance[level_first[j] + (int)v];
    }
    return total;
}

