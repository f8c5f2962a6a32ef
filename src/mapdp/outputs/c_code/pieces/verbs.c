/* ---- A row is scored by every chair, an empty one among them ---- */

static int mapdp_accepts(const mapdp_real *x)
{
    return 1
           && ${kind}_accepts(x)
        ;
}

/* Return the log prior weight of a chair plus the log predictive density of a row (paper, eq. 2). */
static mapdp_real mapdp_score_of(const mapdp_chair *chair, const mapdp_real *x)
{
    mapdp_real score = chair->log_join;
    score += ${kind}_log_predictive(chair, x);
    return score;
}

/* Return the best of the clusters, the first of them where several are, or -1 where there is none. */
static int mapdp_best(const mapdp_state *s, const mapdp_real *x, mapdp_real *best_score)
{
    int k, best = -1;
    for (k = 0; k < s->n_chairs; k++) {
        mapdp_real score;
        if (!mapdp_is_taken(s, k))
            continue;
        score = mapdp_score_of(&s->chairs[k], x);
        if (best < 0 || score > *best_score) {
            best = k;
            *best_score = score;
        }
    }
    return best;
}

int mapdp_assign(const mapdp_state *s, const mapdp_real *x)
{
    mapdp_real joined = R(0.0);
    int best;
    if (!mapdp_accepts(x))
        return MAPDP_REFUSED;
    best = mapdp_best(s, x, &joined);
    return best < 0 || mapdp_score_of(&s->chairs[MAPDP_EMPTY], x) > joined ? MAPDP_NEW : best;
}

mapdp_real mapdp_score(const mapdp_state *s, const mapdp_real *x)
{
    mapdp_real opened, top, sum = R(0.0);
    int k;
    if (!mapdp_accepts(x))
        return sum / sum;   /* NaN */
    opened = top = mapdp_score_of(&s->chairs[MAPDP_EMPTY], x);
    if (mapdp_best(s, x, &sum) >= 0 && sum > top)
        top = sum;
    sum = mapdp_exp(opened - top);
    for (k = 0; k < s->n_chairs; k++)
        if (mapdp_is_taken(s, k))
            sum += mapdp_exp(mapdp_score_of(&s->chairs[k], x) - top);
    return top + mapdp_log(sum) - mapdp_log_total(s, x);
}

