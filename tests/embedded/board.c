/* A whole program for a Cortex-M in QEMU: rows come from rows.bin and labels go to out.bin by semihosting, and
 * SysTick, which counts instructions where QEMU does (-icount shift=0), says how many a row took. */
#include <stdint.h>

#include "mapdp_model.h"

#ifndef BATCH
#define BATCH 32
#endif
#ifdef LEARN
#define VERB mapdp_learn
#else
#define VERB mapdp_assign
#endif

static mapdp_state state;
static mapdp_real raw[BATCH][MAPDP_COLUMNS];
static int32_t labels[BATCH];

static int ask_host(int operation, const void *arguments)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static int open_file(const char *name, uint32_t length, uint32_t mode)
{
    const uint32_t arguments[3] = {(uint32_t)(uintptr_t)name, mode, length};
    return ask_host(1, arguments);
}

static void write_file(int file, const void *bytes, uint32_t n)
{
    const uint32_t arguments[3] = {(uint32_t)file, (uint32_t)(uintptr_t)bytes, n};
    ask_host(5, arguments);
}

static uint32_t read_file(int file, void *bytes, uint32_t n)
{
    const uint32_t arguments[3] = {(uint32_t)file, (uint32_t)(uintptr_t)bytes, n};
    return n - (uint32_t)ask_host(6, arguments);   /* it returns how many bytes are missing */
}

#define SYSTICK ((volatile uint32_t *)0xe000e010u)

/* Return the ticks of 200,000 instructions, so that nothing need be known of the clock. */
static uint32_t ticks_of_a_known_loop(void)
{
    uint32_t count = 100000;
    SYSTICK[1] = 0xffffffu;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5;
    __asm__ volatile(".syntax unified\n1: subs %0, #1\n bne 1b\n" : "+l"(count) : : "cc");
    return 0xffffffu - SYSTICK[2];
}

int main(void)
{
    const int in = open_file("rows.bin", 8, 1), out = open_file("out.bin", 7, 5);
    const int told = open_file("ticks.bin", 9, 5);
    uint32_t ticks[3] = {0, 0, 0}, n, i;
    mapdp_init(&state);
    ticks[2] = ticks_of_a_known_loop();
    while ((n = read_file(in, raw, sizeof raw) / sizeof raw[0]) > 0) {
        SYSTICK[2] = 0;
        SYSTICK[0] = 5;
        for (i = 0; i < n; i++) {
            mapdp_real x[MAPDP_FEATURES];
            mapdp_encode(raw[i], x);
            labels[i] = VERB(&state, x);
        }
        ticks[0] += 0xffffffu - SYSTICK[2];
        ticks[1] += n;
        write_file(out, labels, n * (uint32_t)sizeof labels[0]);
    }
    write_file(told, ticks, sizeof ticks);
#ifdef LEARN
    {
        static uint8_t bytes[MAPDP_STATE_BYTES];
        write_file(open_file("state.bin", 9, 5), bytes, (uint32_t)mapdp_write(&state, bytes));
    }
#endif
    ask_host(0x18, (const void *)0x20026u);   /* the application ends */
    for (;;)
        ;
}

extern uint32_t stack_top[], bss_begin[], bss_end[];

void reset(void)
{
    uint32_t *p;
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88u |= 0xf00000u;   /* switch the floating point unit on */
    __asm__ volatile("dsb\n isb");
#endif
    for (p = bss_begin; p < bss_end; p++)
        *p = 0;
    main();
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_top, (const void *)reset};
