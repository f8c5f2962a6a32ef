/* Reads rows from rows.bin; writes three numbers for each to out.bin, and with LEARN the state to state.bin. */
#include <stdio.h>

#include "mapdp_model.h"

static mapdp_state state;

int main(void)
{
    static mapdp_real raw[MAPDP_COLUMNS], x[MAPDP_FEATURES];
    FILE *in = fopen("rows.bin", "rb"), *out = fopen("out.bin", "wb");
    if (!in || !out)
        return 1;
    mapdp_init(&state);
    while (fread(raw, sizeof(mapdp_real), MAPDP_COLUMNS, in) == MAPDP_COLUMNS) {
        double told[3] = {0.0, 0.0, 0.0};
#ifdef HOSTILE   /* as if somebody had forgotten to encode */
        for (int j = 0; j < MAPDP_FEATURES; j++)
            x[j] = raw[j % MAPDP_COLUMNS];
        if (mapdp_assign(&state, x) < MAPDP_REFUSED || mapdp_assign(&state, x) >= MAPDP_CAPACITY)
            return 5;
#endif
        mapdp_encode(raw, x);
#ifdef LEARN
        told[0] = mapdp_learn(&state, x);
        told[1] = state.merged;
        told[2] = state.merged_into;
#ifdef FORGET
        mapdp_forget(&state, (mapdp_real)FORGET);
#endif
#else
        told[0] = mapdp_assign(&state, x);
        told[1] = (double)mapdp_score(&state, x);
#endif
        fwrite(told, sizeof(double), 3, out);
    }
    fclose(in);
    fclose(out);
#ifdef LEARN
    {
        static uint8_t bytes[MAPDP_STATE_BYTES], again[MAPDP_STATE_BYTES];
        static mapdp_state copy;
        const size_t n = mapdp_write(&state, bytes);
        out = fopen("state.bin", "wb");
        if (!out || fwrite(bytes, 1, n, out) != n)
            return 1;
        fclose(out);
        if (!mapdp_read(&copy, bytes, n) || mapdp_write(&copy, again) != n)
            return 2;
        for (size_t i = 0; i < n; i++)
            if (bytes[i] != again[i])
                return 3;
        bytes[n / 2] ^= 1;
        if (mapdp_read(&copy, bytes, n))
            return 4;
    }
#endif
    return 0;
}
