/* Return the correction of Stirling's formula for z >= 8. */
static mapdp_real mapdp_stirling(mapdp_real z)
{
    const mapdp_real u = R(1.0) / z, w = u * u;
    mapdp_real r = R(0.006410256410256410);
    r = r * w - R(0.0019175269175269176);
    r = r * w + R(0.0008417508417508417);
    r = r * w - R(0.0005952380952380953);
    r = r * w + R(0.0007936507936507937);
    r = r * w - R(0.002777777777777778);
    r = r * w + R(0.08333333333333333);
    return r * u;
}

/* Return log gamma(a + x) - log gamma(a), for a > 0 and x >= 0: both go up by 8, where Stirling's series is
 * exact to rounding, and the factors that this adds are taken off as the log of one ratio. */
static mapdp_real mapdp_log_rising(mapdp_real a, mapdp_real x)
{
    const mapdp_real b = a + x, a8 = a + R(8.0), b8 = b + R(8.0);
    mapdp_real over = R(1.0), taken_off = R(0.0), body;
    int i;
    for (i = 0; i < 8; i++) {
        over *= (a + (mapdp_real)i) / (b + (mapdp_real)i);
        if (over < R(1e-15)) {   /* before it is too small for our precision */
            taken_off += mapdp_log(over);
            over = R(1.0);
        }
    }
    body = (a8 - R(0.5)) * mapdp_log1p(x / a8) + x * mapdp_log(b8) - x;
    return body + (mapdp_stirling(b8) - mapdp_stirling(a8)) + mapdp_log(over) + taken_off;
}

