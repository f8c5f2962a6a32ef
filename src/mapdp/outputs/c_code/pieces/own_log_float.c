/* Return the natural logarithm of a positive normal number: x = 2^e m, m between sqrt(1/2) and sqrt(2), and
 * log m = 2 atanh(s), s = (m - 1) / (m + 1), by its series. */
static mapdp_real mapdp_log(mapdp_real x)
{
    uint32_t bits;
    float m, f, s, z, r;
    int e;
    memcpy(&bits, &x, sizeof bits);
    bits += UINT32_C(0x3f800000) - UINT32_C(0x3f3504f3);
    e = (int)(bits >> 23) - 127;
    bits = (bits & UINT32_C(0x007fffff)) + UINT32_C(0x3f3504f3);
    memcpy(&m, &bits, sizeof m);
    f = m - 1.0f;
    s = f / (2.0f + f);
    z = s * s;
    r = 0.22222222f + 0.18181818f * z;
    r = r * z + 0.28571429f;
    r = r * z + 0.4f;
    r = r * z + 0.66666667f;
    return (float)e * 0.69314718f + (2.0f * s + s * z * r);
}
#endif

