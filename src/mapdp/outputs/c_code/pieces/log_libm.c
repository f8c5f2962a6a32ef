#ifndef MAPDP_OWN_LOG
#include <math.h>

static mapdp_real mapdp_log(mapdp_real x)
{
    return $log(x);
}
#else
