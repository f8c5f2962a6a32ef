static int mapdp_has_gaps(const mapdp_real *x)
{
    int j;
    for (j = 0; j < MAPDP_FEATURES; j++)
        if (x[j] != x[j])
            return 1;
    return 0;
}

