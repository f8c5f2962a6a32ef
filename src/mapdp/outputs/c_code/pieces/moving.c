/* ---- The state of a model that learns ---- */

static int mapdp_is_taken(const mapdp_state *s, int k)
{
    return s->chairs[k].sums.n > R(0.0);
}

/* Return the log of the weights of all chairs, of the units that the columns of a row are in, and the
 * logarithms that stand for columns of it. */
static mapdp_real mapdp_log_total(const mapdp_state *s, const mapdp_real *x)
{
    const mapdp_real open = s->chairs[MAPDP_EMPTY].log_join;
    mapdp_real joins = R(0.0), total;
    int k;
    for (k = 0; k < s->n_chairs; k++)
        if (mapdp_is_taken(s, k))
            joins += s->chairs[k].sums.n - mapdp_discount;
    total = joins > R(0.0) ? mapdp_log(joins) : open;
    if (joins > R(0.0))
        total = total > open ? total + mapdp_log1p(mapdp_exp(open - total))
                             : open + mapdp_log1p(mapdp_exp(total - open));
$log_units
    (void)x;
    return total;
}

