void mapdp_encode(const mapdp_real *raw, mapdp_real *x)
{
$cells
}

