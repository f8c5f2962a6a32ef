#define R(number) number$suffix   /* a number of our precision */

#if defined(__FAST_MATH__)
#error "mapdp_model.c needs NaN and exact rounding: compile it without -ffast-math"
#endif

