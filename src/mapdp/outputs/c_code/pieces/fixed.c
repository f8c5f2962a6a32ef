/* ---- The state of a model that does not learn: its chairs are constants ---- */

static int mapdp_is_taken(const mapdp_state *s, int k)
{
    return k < s->n_chairs;
}

void mapdp_init(mapdp_state *s)
{
    s->chairs = mapdp_fitted;
    s->n_chairs = MAPDP_CLUSTERS;
}

/* Return what is to be taken off log densities: the logs of the units that the columns of a row are in, and
 * the logarithms that stand for columns of it. */
static mapdp_real mapdp_log_total(const mapdp_state *s, const mapdp_real *x)
{
    mapdp_real total = R(0.0);
$log_units
    (void)s;
    (void)x;
    return total;
}

