/* ---- Learning: a row sits down for good ---- */

/* Statistics, or a whole chair, as plain numbers, one after another. */
static mapdp_real mapdp_number(const void *numbers, size_t i)
{
    mapdp_real number;
    memcpy(&number, (const char *)numbers + i * sizeof number, sizeof number);
    return number;
}

static void mapdp_set_number(mapdp_sums *sums, size_t i, mapdp_real number)
{
    memcpy((char *)sums + i * sizeof number, &number, sizeof number);
}

static void mapdp_scale(mapdp_sums *sums, mapdp_real factor)
{
    size_t i;
    for (i = 0; i < MAPDP_NUMBERS; i++)
        mapdp_set_number(sums, i, factor * mapdp_number(sums, i));
}

static void mapdp_clear(mapdp_sums *sums)
{
    size_t i;
    for (i = 0; i < MAPDP_NUMBERS; i++)
        mapdp_set_number(sums, i, R(0.0));
}

static void mapdp_insert(mapdp_sums *sums, const mapdp_real *x)
{
    if (sums->n >= R($most_rows))   /* beyond, one more row would be rounded away: forget half of them */
        mapdp_scale(sums, R(0.5));
    sums->n += R(1.0);
    ${kind}_insert(&sums->$kind, x);
}

/* Bring the cached predictive of a chair up to date. */
static void mapdp_refresh(mapdp_chair *chair)
{
    ${kind}_refresh(chair);
    if (chair->sums.n > R(0.0))
        chair->log_join = mapdp_log(chair->sums.n - mapdp_discount);
}

/* Bring the weight of the empty chair up to date; return how many clusters there are. */
static int mapdp_weigh(mapdp_state *s)
{
    mapdp_real n_rows = R(0.0);
    int k, n_taken = 0;
    for (k = 0; k < s->n_chairs; k++) {
        n_taken += mapdp_is_taken(s, k);
        n_rows += s->chairs[k].sums.n;
    }
    s->chairs[MAPDP_EMPTY].log_join = mapdp_log_open(n_taken, n_rows + R(1.0));
    return n_taken;
}

/* Make the empty chair empty again, and weigh it. */
static int mapdp_tidy(mapdp_state *s)
{
    mapdp_clear(&s->chairs[MAPDP_EMPTY].sums);
    mapdp_refresh(&s->chairs[MAPDP_EMPTY]);
    return mapdp_weigh(s);
}

void mapdp_init(mapdp_state *s)
{
    int k;
    s->n_chairs = MAPDP_CLUSTERS;
    s->merged = s->merged_into = -1;
    for (k = 0; k < MAPDP_CAPACITY; k++)
        mapdp_clear(&s->chairs[k].sums);
    for (k = 0; k < MAPDP_CLUSTERS; k++) {
        s->chairs[k].sums = mapdp_fitted[k];
        mapdp_refresh(&s->chairs[k]);
    }
    mapdp_tidy(s);
}

