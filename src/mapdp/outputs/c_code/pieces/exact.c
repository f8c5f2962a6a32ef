/* Return a * b rounded; *lost is the rounding error. Both factors are cut in two, so that all products of
 * the halves are exact (Dekker 1971). */
static mapdp_real mapdp_two_product(mapdp_real a, mapdp_real b, mapdp_real *lost)
{
    const mapdp_real p = a * b, c = a * R($splitter), d = b * R($splitter);
    const mapdp_real a_high = c - (c - a), a_low = a - a_high;
    const mapdp_real b_high = d - (d - b), b_low = b - b_high;
    *lost = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return p;
}

