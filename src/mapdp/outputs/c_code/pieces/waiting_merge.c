static void waiting_pour(mapdp_waiting_sums *into, const mapdp_waiting_sums *from)
{
    int j;
    for (j = 0; j < MAPDP_WAITINGS; j++) {
        into->n[j] += from->n[j];
        mapdp_add(&into->total[j], &into->total_low[j], from->total[j], from->total_low[j]);
        mapdp_add(&into->orders[j], &into->orders_low[j], from->orders[j], from->orders_low[j]);
    }
}

/* What counts of the same rows have in common however they are shared out is left out. */
static mapdp_real waiting_log_marginal(const mapdp_waiting_sums *sums)
{
    mapdp_real total = R(0.0);
    int j;
    for (j = 0; j < MAPDP_WAITINGS; j++) {
        const mapdp_real s = sums->n[j] * waiting_successes[j], f = sums->total[j];
        total += mapdp_log_rising(waiting_success[j], s) + mapdp_log_rising(waiting_failure[j], f);
        total -= mapdp_log_rising(waiting_success[j] + waiting_failure[j], s + f);
    }
    return total;
}

