/* Return the natural logarithm of a positive normal number: x = 2^e m, m between sqrt(1/2) and sqrt(2), and
 * log m = 2 atanh(s), s = (m - 1) / (m + 1), by a minimax polynomial in s^2. */
static mapdp_real mapdp_log(mapdp_real x)
{
    uint64_t bits;
    double m, f, s, z, r;
    int e;
    memcpy(&bits, &x, sizeof bits);
    bits += UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd);
    e = (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);
    memcpy(&m, &bits, sizeof m);
    f = m - 1.0;
    s = f / (2.0 + f);
    z = s * s;
    r = 0.15331710618210771568 + 0.14616585424888621989 * z;
    r = r * z + 0.18182889455674946039;
    r = r * z + 0.22222211130259877029;
    r = r * z + 0.28571428626003268742;
    r = r * z + 0.39999999999899443233;
    r = r * z + 0.66666666666666696883;
    return (double)e * 0.6931471805599453 + (2.0 * s + s * z * r);
}
#endif

