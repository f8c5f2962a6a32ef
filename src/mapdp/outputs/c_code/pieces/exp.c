/* Return e to the power of x, for x up to 0: x = n log 2 + r, and a short series for r. */
static mapdp_real mapdp_exp(mapdp_real x)
{
    mapdp_real r, series = R(1.0), half = R(0.5);
    int n, i;
    if (x < R($lowest_exp))
        return R(0.0);
    n = (int)(R(0.5) - x * R(1.4426950408889634));
    r = (x + (mapdp_real)n * R($log_2_high)) + (mapdp_real)n * R($log_2_low);
    for (i = $exp_terms; i > 0; i--)
        series = R(1.0) + series * r / (mapdp_real)i;
    for (; n > 0; n >>= 1, half *= half)   /* times 2^-n */
        if (n & 1)
            series *= half;
    return series;
}

