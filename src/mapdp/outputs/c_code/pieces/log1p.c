/* Return log(1 + x) for x from 0 up, also where 1 + x would lose the digits of x. */
static mapdp_real mapdp_log1p(mapdp_real x)
{
    const mapdp_real y = R(1.0) + x;
    return mapdp_log(y) + (x - (y - R(1.0))) / y;
}

