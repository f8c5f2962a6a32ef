/* Return sum (x - mean)(y - mean) from the exact sums of x, of y and of xy over n rows. */
static mapdp_real mapdp_about_means(mapdp_real a, mapdp_real a_low, mapdp_real b, mapdp_real b_low,
                                    mapdp_real ab, mapdp_real ab_low, mapdp_real n)
{
    mapdp_real e, s, low;
    const mapdp_real p = mapdp_two_product(a, b, &e);
    const mapdp_real q = p / n, r = mapdp_two_product(q, n, &s);
    const mapdp_real rest = ((p - r) - s + (e + a * b_low + b * a_low)) / n;
    const mapdp_real high = mapdp_two_sum(ab, -q, &low);
    return high + (low + ab_low - rest);
}

