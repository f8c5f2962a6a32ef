/* Reads rows of MAPDP_COLUMNS numbers from standard input, nan for gaps, and prints for each its cluster and
 * its log density$also. */
#include <stdio.h>

#include "mapdp_model.h"

int main(void)
{
    static mapdp_state state;
    mapdp_real raw[MAPDP_COLUMNS], x[MAPDP_FEATURES];
    double number;
    int j = 0;
    mapdp_init(&state);
    while (scanf("%lf", &number) == 1) {
        raw[j++] = (mapdp_real)number;
        if (j < MAPDP_COLUMNS)
            continue;
        j = 0;
        mapdp_encode(raw, x);
        printf("%d %.9g\n", $verb(&state, x), (double)mapdp_score(&state, x));
    }
    return 0;
}
