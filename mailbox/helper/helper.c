/*
 * The first program of a sandbox's process. It has no libc, and the library carries it as bytes
 * (mailbox/sandbox_process.c). It maps the channel, gives up its rights, and only then loads the
 * program. So no instruction of the program runs outside of the sandbox, and its file is not even
 * parsed there.
 */

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "mailbox/sandbox_channel.h"
#include "mailbox/sandbox_image.h"
#define TERN_SANDBOX_PROGRAM
#include "tern/sandbox_child.h"

enum { SIGNAL_KILL = 9, READ_ONLY = 1, READ_WRITE = 3, ALL = 7 };

void helper_main(void);

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n and $-16, %rsp\n call helper_main\n ud2\n");
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
__asm__(".globl _start\n_start:\n mov x29, #0\n mov x30, #0\n bl helper_main\n brk #1\n");
#endif

static long helper_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#endif
}

/* Ends the process because no sandbox can be set up here; the signal tells the server why. */
static void helper_give_up(int why) {
    long own = helper_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    (void)helper_call(SYS_kill, own, TERN_SANDBOX_SIGNAL + why, 0, 0, 0, 0);
    __builtin_trap();
}

static int helper_failed(long result) { return result < 0 && result > -4096; }

static void *helper_map(uint64_t bytes, long protection, long flags, long fd, int why) {
    long memory = helper_call(SYS_mmap, 0, (long)bytes, protection, flags, fd, 0);
    if (helper_failed(memory))
        helper_give_up(why);
    return (void *)memory;
}

/* The filter already forbids the calls that these limits concern. The limits are a second barrier,
 * in case the filter fails. */
static void helper_limit(void) {
    static const struct {
        int what;
        unsigned long most;
    } limits[] = {{RLIMIT_NOFILE, 0}, {RLIMIT_NPROC, 0},   {RLIMIT_FSIZE, 0},
                  {RLIMIT_CORE, 0},   {RLIMIT_MEMLOCK, 0}, {RLIMIT_STACK, TERN_SANDBOX_STACK}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit64 both = {limits[i].most, limits[i].most};
        if (helper_failed(helper_call(SYS_prlimit64, 0, limits[i].what, (long)&both, 0, 0, 0)))
            helper_give_up(TERN_SANDBOX_NO_LIMITS);
    }
}

static void helper_control(long what, long value) {
    if (helper_failed(helper_call(SYS_prctl, what, value, 0, 0, 0, 0)))
        helper_give_up(TERN_SANDBOX_NO_PRCTL);
}

/* Allows two system calls, by their numbers on this architecture. 32-bit calls have other
 * numbers and are killed by the first test; calls of x32 have one more bit in their number and
 * match none. */
static void helper_filter(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof steps[0], steps};
    if (helper_failed(
            helper_call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program, 0, 0, 0)))
        helper_give_up(TERN_SANDBOX_NO_FILTER);
}

typedef int program_main(tern_sandbox_box *box);

static program_main *helper_load(const uint8_t *image, uint64_t bytes, uint8_t *room,
                                 uint64_t size) {
    uint64_t entry = 0, parts = 0;
    tern_image_list list;
    if (tern_image_check(image, bytes, size, &entry, &parts, &list) != NULL)
        return NULL;
    for (uint64_t i = 0; i < parts; i++) {
        Elf64_Phdr part = tern_image_part(image, i);
        if (part.p_type == PT_LOAD)
            memcpy(room + part.p_vaddr, image + part.p_offset, part.p_filesz);
    }
    for (uint64_t i = 0; i < list.count; i++) {
        Elf64_Rela one = tern_image_relocation(&list, i);
        uint64_t value = (uint64_t)(uintptr_t)room + (uint64_t)one.r_addend;
        memcpy(room + one.r_offset, &value, sizeof value);
    }
    __builtin___clear_cache((char *)room, (char *)room + size);
    return (program_main *)(uintptr_t)(room + entry);
}

void helper_main(void) {
    tern_sandbox_channel *head =
        helper_map(sizeof *head, READ_ONLY, MAP_SHARED, TERN_SANDBOX_FD, TERN_SANDBOX_NO_CHANNEL);
    tern_sandbox_channel c = *head;
    (void)helper_call(SYS_munmap, (long)head, sizeof *head, 0, 0, 0, 0);
    uint8_t *channel = helper_map(c.bytes, READ_WRITE, MAP_SHARED | MAP_NORESERVE, TERN_SANDBOX_FD,
                                  TERN_SANDBOX_NO_CHANNEL);
    uint8_t *room = helper_map(c.room, ALL, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                               TERN_SANDBOX_NO_MEMORY);
    if (helper_failed(helper_call(SYS_close_range, 0, ~0u, 0, 0, 0, 0)))
        helper_give_up(TERN_SANDBOX_NO_CLOSE);
    helper_limit();
    (void)helper_call(SYS_prctl, PR_SET_NAME, (long)"tern-sandbox", 0, 0, 0, 0);
    helper_control(PR_SET_DUMPABLE, 0);
    helper_control(PR_SET_PDEATHSIG, SIGNAL_KILL);
    /* The server may have died before PR_SET_PDEATHSIG took effect. */
    if (helper_call(SYS_getppid, 0, 0, 0, 0, 0, 0) != c.server)
        helper_give_up(TERN_SANDBOX_NO_PARENT);
    helper_control(PR_SET_NO_NEW_PRIVS, 1);
    helper_filter();

    tern_mailbox box =
        tern_mailbox_at(channel + c.mailbox, TERN_SANDBOX_SLOTS, TERN_SANDBOX_PACKET);
    tern_sandbox_box mine = {tern_mailbox_client_at(&box, 1), channel + c.memory, c.memory_bytes,
                             channel + c.argument, (uint32_t)c.argument_bytes};
    program_main *program = helper_load(channel + c.image, c.image_bytes, room, c.room);
    if (program == NULL) /* the server checked these bytes: they have changed since */
        __builtin_trap();
    tern_sandbox_exit(program(&mine));
}
