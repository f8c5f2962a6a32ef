static void waiting_insert(mapdp_waiting_sums *sums, const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_WAITINGS; j++) {
        const mapdp_real v = x[waiting_place[j]];
        if (v != v)
            continue;
        sums->n[j] += R(1.0);
        mapdp_add(&sums->total[j], &sums->total_low[j], v, R(0.0));
        mapdp_add(&sums->orders[j], &sums->orders_low[j],
                  mapdp_log_rising(waiting_successes[j], v) - mapdp_log_rising(R(1.0), v), R(0.0));
    }
}

static void waiting_refresh(mapdp_chair *chair)
{
    mapdp_waiting_predictive *p = &chair->predictive.waiting;
    int j;
    for (j = 0; j < MAPDP_WAITINGS; j++) {
        const mapdp_real r = waiting_successes[j];
        p->success[j] = waiting_success[j] + chair->sums.waiting.n[j] * r;
        p->failure[j] = waiting_failure[j] + chair->sums.waiting.total[j];
        p->log_none[j] = mapdp_log_rising(p->success[j], r) - mapdp_log_rising(p->success[j] + p->failure[j], r);
    }
}

static int waiting_is_sound(const mapdp_waiting_sums *sums, mapdp_real most)
{
    int j;
    for (j = 0; j < MAPDP_WAITINGS; j++)
        if (!(sums->n[j] >= R(0.0) && sums->n[j] <= most && sums->total[j] >= R(0.0)
              && mapdp_is_within(sums->total[j], sums->total_low[j], most * R($largest_count))
              && mapdp_is_within(sums->orders[j], sums->orders_low[j], most * R(1e20))))
            return 0;
    return 1;
}

