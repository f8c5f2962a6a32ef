/* Return the log prior weight of a new cluster: alpha + discount K (paper, eq. 2). */
static mapdp_real mapdp_log_open(int n_taken, mapdp_real n_rows)
{
    (void)n_rows;
    return mapdp_log(mapdp_alpha + mapdp_discount * (mapdp_real)n_taken);
}

