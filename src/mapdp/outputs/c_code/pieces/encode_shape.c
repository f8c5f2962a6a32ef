/* Map a row so that the shape that all clusters have in common is a sphere. */
static void mapdp_map(mapdp_real *x)
{
    int i, j;
    for (i = MAPDP_FEATURES - 1; i >= 0; i--) {
        const mapdp_real *line = mapdp_common_shape + i * (i + 1) / 2;
        mapdp_real total = R(0.0);
        for (j = 0; j <= i; j++)
            total += line[j] * x[j];
        x[i] = total;
    }
}

