static void mapdp_pour(mapdp_sums *into, const mapdp_sums *from)
{
    into->n += from->n;
    ${kind}_pour(&into->$kind, &from->$kind);
}

/* Return what a chair adds to the log joint: the density of its rows, and the prior weight of their sitting
 * together, log gamma(n - d) - log gamma(1 - d). */
static mapdp_real mapdp_log_worth(const mapdp_sums *sums)
{
    mapdp_real worth = sums->n >= R(1.0) ? mapdp_log_rising(R(1.0) - mapdp_discount, sums->n - R(1.0))
                                         : -mapdp_log_rising(sums->n - mapdp_discount, R(1.0) - sums->n);
    worth += ${kind}_log_marginal(&sums->$kind);
    return worth;
}

/* Find the two clusters that lose least by becoming one, and return what the log joint gains by that, but for
 * the weight of the chair that becomes free. The empty chair serves to try them. */
static mapdp_real mapdp_closest_pair(mapdp_state *s, int *into, int *from)
{
    mapdp_sums *both = &s->chairs[MAPDP_EMPTY].sums;
    mapdp_real worth[MAPDP_CAPACITY], best = R(0.0);
    int a, b;
    *into = *from = -1;
    for (a = 0; a < s->n_chairs; a++)
        worth[a] = mapdp_log_worth(&s->chairs[a].sums);
    for (a = 0; a < s->n_chairs; a++)
        for (b = a + 1; b < s->n_chairs; b++) {
            mapdp_real gain;
            *both = s->chairs[a].sums;
            mapdp_pour(both, &s->chairs[b].sums);
            gain = mapdp_log_worth(both) - worth[a] - worth[b];
            if (*from < 0 || gain > best) {
                best = gain;
                *into = a;
                *from = b;
            }
        }
    mapdp_clear(both);
    return best;
}

/* All chairs are taken: free one by merging two clusters, where with a cluster for itself the row then gains
 * more than they lose. `ahead` is how much more its density is worth there than with the cluster it likes
 * best; the weight of a new chair and that of the freed one are the same. Returns the chair, or -1. */
static int mapdp_merge_for(mapdp_state *s, mapdp_real ahead)
{
    int into, from;
    if (MAPDP_CAPACITY < 2 || !(mapdp_closest_pair(s, &into, &from) + ahead > R(0.0)))
        return -1;
    mapdp_pour(&s->chairs[into].sums, &s->chairs[from].sums);
    mapdp_refresh(&s->chairs[into]);
    mapdp_clear(&s->chairs[from].sums);
    s->merged = from;
    s->merged_into = into;
    return from;
}

