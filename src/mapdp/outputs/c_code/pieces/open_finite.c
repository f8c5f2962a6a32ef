/* Return how many times as probable k + 1 components are as k, given n rows, but for how many of them are
 * taken: the number of components, less 1, is Poisson, and their weights are Dirichlet. */
static mapdp_real mapdp_log_more(mapdp_real k, mapdp_real n)
{
    return mapdp_log((k + R(1.0)) / k * mapdp_poisson_rate)
           + mapdp_log_rising(mapdp_concentration * k, mapdp_concentration)
           - mapdp_log_rising(mapdp_concentration * k + n, mapdp_concentration);
}

/* Return log V_n(t) of Miller and Harrison (2018), less its first term: a sum over components not yet seen. */
static mapdp_real mapdp_log_tail(int n_taken, mapdp_real n)
{
    mapdp_real sum = R(1.0), term = R(1.0);
    int extra;
    for (extra = 0; extra < $most_components && term > R($negligible) * sum; extra++) {
        const mapdp_real more = mapdp_log_more((mapdp_real)(n_taken + extra), n) - mapdp_log((mapdp_real)(extra + 1));
        term *= more > R(0.0) ? R(1.0) / mapdp_exp(-more) : mapdp_exp(more);
        sum += term;
    }
    return mapdp_log(sum);
}

/* Return the log prior weight of a new cluster for the last of n rows: concentration V_n(K + 1) / V_n(K). */
static mapdp_real mapdp_log_open(int n_taken, mapdp_real n_rows)
{
    const mapdp_real log_v = mapdp_log_tail(n_taken + 1, n_rows) + mapdp_log(mapdp_concentration);
    if (n_taken == 0)
        return log_v - mapdp_poisson_rate - mapdp_log_rising(mapdp_concentration, n_rows);
    return log_v + mapdp_log_more((mapdp_real)n_taken, n_rows) - mapdp_log_tail(n_taken, n_rows);
}

