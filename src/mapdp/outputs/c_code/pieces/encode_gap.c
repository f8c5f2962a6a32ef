/* Return what stands for a cell that is missing: NaN. A level that was never seen is taken for one. */
static mapdp_real mapdp_gap(void)
{
    const mapdp_real zero = R(0.0);
    return zero / zero;
}

