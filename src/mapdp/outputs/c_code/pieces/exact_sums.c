/* Return a + b rounded; *lost is the rounding error. */
static mapdp_real mapdp_two_sum(mapdp_real a, mapdp_real b, mapdp_real *lost)
{
    const mapdp_real s = a + b, t = s - a;
    *lost = (a - (s - t)) + (b - t);
    return s;
}

/* Add a number, and what it lost to rounding before, to a sum that is kept with its rounding error. */
static void mapdp_add(mapdp_real *high, mapdp_real *low, mapdp_real number, mapdp_real error)
{
    mapdp_real lost, total;
    const mapdp_real s = mapdp_two_sum(*high, number, &lost);
    lost += *low + error;
    total = s + lost;
    *low = lost - (total - s);
    *high = total;
}

/* Say whether such a sum, and what it lost, are not beyond what so many rows can add up to. */
static int mapdp_is_within(mapdp_real high, mapdp_real low, mapdp_real most)
{
    return high >= -most && high <= most && low >= -most && low <= most;
}

