/* Return the logarithm of a cell; what has none is put beyond reach, so that it is refused. */
static mapdp_real mapdp_log_of(mapdp_real v)
{
    if (v != v)
        return v;
    if (v <= R(0.0) || v > R($largest))
        return R($largest);
    if (v < R(1e-30))   /* it may be too small to have all its digits */
        return mapdp_log(v * R(18446744073709551616.0)) - R(44.3614195558365);
    return mapdp_log(v);
}

