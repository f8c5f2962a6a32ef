static void level_pour(mapdp_level_sums *into, const mapdp_level_sums *from)
{
    int i;
    for (i = 0; i < MAPDP_LEVEL_COLUMNS; i++)
        into->n[i] += from->n[i];
    for (i = 0; i < MAPDP_LEVELS; i++)
        into->tally[i] += from->tally[i];
}

static mapdp_real level_log_marginal(const mapdp_level_sums *sums)
{
    mapdp_real total = R(0.0);
    int j, i;
    for (j = 0; j < MAPDP_LEVEL_COLUMNS; j++) {
        total -= mapdp_log_rising(level_total[j], sums->n[j]);
        for (i = level_first[j]; i < level_first[j + 1]; i++)
            total += mapdp_log_rising(level_pseudo_count[i], sums->tally[i]);
    }
    return total;
}

