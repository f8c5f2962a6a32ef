static void level_insert(mapdp_level_sums *sums, const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_LEVEL_COLUMNS; j++) {
        const mapdp_real v = x[level_place[j]];
        if (v != v)
            continue;
        sums->n[j] += R(1.0);
        sums->tally[level_first[j] + (int)v] += R(1.0);
    }
}

static void level_refresh(mapdp_chair *chair)
{
    const mapdp_level_sums *sums = &chair->sums.level;
    int j, i;
    for (j = 0; j < MAPDP_LEVEL_COLUMNS; j++) {
        const mapdp_real total = level_total[j] + sums->n[j];
        for (i = level_first[j]; i < level_first[j + 1]; i++)
            chair->predictive.level.log_chance[i] = mapdp_log((level_pseudo_count[i] + sums->tally[i]) / total);
    }
}

static int level_is_sound(const mapdp_level_sums *sums, mapdp_real most)
{
    int i;
    for (i = 0; i < MAPDP_LEVEL_COLUMNS; i++)
        if (!(sums->n[i] >= R(0.0) && sums->n[i] <= most))
            return 0;
    for (i = 0; i < MAPDP_LEVELS; i++)
        if (!(sums->tally[i] >= R(0.0) && sums->tally[i] <= most))
            return 0;
    return 1;
}

