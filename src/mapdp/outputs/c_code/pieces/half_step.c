/* Return log gamma(a + 1/2) - log gamma(a). */
static mapdp_real mapdp_half_step(mapdp_real a)
{
    mapdp_real above = R(1.0), u, z, r;
    for (; a < R(12.0); a += R(1.0))   /* up to where the series is exact to rounding */
        above *= a / (a + R(0.5));
    u = R(1.0) / a;
    z = u * u;
    r = R(-0.003834117542613636);
    r = r * z + R(0.0016818576388888888);
    r = r * z - R(0.0011858258928571428);
    r = r * z + R(0.0015625);
    r = r * z - R(0.005208333333333333);
    r = r * z + R(0.125);
    return R(0.5) * mapdp_log(a) - u * r + mapdp_log(above);
}

