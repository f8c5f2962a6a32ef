/* Say whether a cell is a gap, or a count that our precision holds exactly. */
static int mapdp_is_count(mapdp_real v)
{
    return v != v || (v >= R(0.0) && v <= R($largest_count) && (mapdp_real)($whole)v == v);
}

/* Return count log(count / expected) + beyond, where beyond is expected - count: never below 0. */
static mapdp_real mapdp_deviance(mapdp_real count, mapdp_real expected, mapdp_real beyond)
{
    mapdp_real s, z, series = R(0.0);
    int i;
    if (count <= R(0.0))
        return beyond;
    s = beyond / (count + expected);
    if (s > R(0.1) || s < R(-0.1))
        return beyond - count * mapdp_log(expected / count);
    z = s * s;   /* u - log(1 + u) = s (u - 2 z (1/3 + z/5 + z^2/7 + ...)), u = beyond / count */
    for (i = 9; i > 0; i--)
        series = series * z + R(1.0) / (mapdp_real)(2 * i + 1);
    return count * s * (beyond / count - R(2.0) * z * series);
}

/* Return log gamma(x + 1) - x log x + x. */
static mapdp_real mapdp_beyond_stirling(mapdp_real x)
{
    if (x >= R(8.0))
        return R(0.5) * (R(1.8378770664093453) + mapdp_log(x)) + mapdp_stirling(x);
    return mapdp_log_rising(R(1.0), x) + x - (x > R(0.0) ? x * mapdp_log(x) : R(0.0));
}

