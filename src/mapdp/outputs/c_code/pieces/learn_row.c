/* Return a chair that nobody sits on, or -1. */
static int mapdp_free_chair(mapdp_state *s)
{
    int k;
    for (k = 0; k < s->n_chairs; k++)
        if (!mapdp_is_taken(s, k))
            return k;
    return s->n_chairs < MAPDP_CAPACITY ? s->n_chairs++ : -1;
}

int mapdp_learn(mapdp_state *s, const mapdp_real *x)
{
    const mapdp_chair *empty = &s->chairs[MAPDP_EMPTY];
    mapdp_real joined = R(0.0), opened;
    int k, room;
    s->merged = s->merged_into = -1;
    if (!mapdp_accepts(x)$no_gaps)
        return MAPDP_REFUSED;
    k = mapdp_best(s, x, &joined);
    opened = mapdp_score_of(empty, x);
    if (k < 0 || opened > joined) {
        room = mapdp_free_chair(s);
        if (room < 0)
$when_full
        k = room < 0 ? k : room;
    }
    mapdp_insert(&s->chairs[k].sums, x);
    mapdp_refresh(&s->chairs[k]);
    mapdp_weigh(s);
    return k;
}

int mapdp_forget(mapdp_state *s, mapdp_real factor)
{
    int k;
    if (!(factor > R(0.0) && factor < R(1.0)))
        return mapdp_weigh(s);
    for (k = 0; k < s->n_chairs; k++) {
        mapdp_sums *sums = &s->chairs[k].sums;
        mapdp_scale(sums, factor);
        if (sums->n < R(0.015625) || sums->n - mapdp_discount < R(0.015625))   /* next to nothing: the number is free again */
            mapdp_clear(sums);
        mapdp_refresh(&s->chairs[k]);
    }
    return mapdp_weigh(s);
}

