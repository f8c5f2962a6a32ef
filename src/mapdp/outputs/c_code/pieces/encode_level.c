/* Return the code of a cell, or `otherwise` where it is none of the levels. */
static mapdp_real mapdp_code(mapdp_real v, const mapdp_real *levels, int n, mapdp_real otherwise)
{
    int i;
    for (i = 0; i < n; i++)
        if (levels[i] == v)
            return (mapdp_real)i;
    return v != v ? v : otherwise;
}

