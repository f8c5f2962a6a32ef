static mapdp_real gaussian_mean(const mapdp_chair *chair, int j)
{
    return chair->predictive.gaussian.mean[j];
}

static mapdp_real gaussian_power(const mapdp_chair *chair, int j)
{
    (void)j;   /* the columns of a cluster have seen the same rows */
    return chair->predictive.gaussian.power[0];
}

