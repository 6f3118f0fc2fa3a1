/*
 * Files that are no programs for a sandbox: the reason is reported before a process is started. The
 * files are sandbox_program with small changes.
 */

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox_tools.h"

static struct {
    unsigned char *good, *bad; /* the program's file; a copy that is changed */
    size_t bytes;
    char path[40];
    unsigned char argument[SANDBOX_ARGUMENT];
} play;

static bool read_program(void) {
    struct stat info;
    FILE *file = fopen(TERN_TEST_PROGRAM, "re");
    if (file == NULL || fstat(fileno(file), &info) != 0)
        return false;
    play.bytes = (size_t)info.st_size;
    play.good = malloc(play.bytes);
    play.bad = malloc(play.bytes);
    bool whole = play.good != NULL && play.bad != NULL &&
                 fread(play.good, 1, play.bytes, file) == play.bytes;
    fclose(file);
    return whole;
}

/* Makes a file with the first bytes of play.bad. */
static bool write_file(size_t bytes) {
    snprintf(play.path, sizeof play.path, "/tmp/tern-program-XXXXXX");
    int fd = mkstemp(play.path);
    bool whole = fd >= 0 && write(fd, play.bad, bytes) == (ssize_t)bytes;
    if (fd >= 0)
        close(fd);
    return whole;
}

static tern_status run_file(const char *path, tern_sandbox_result *result) {
    tern_sandbox_options options = tern_sandbox_defaults(path);
    options.argument = play.argument;
    options.argument_bytes = sandbox_argument(play.argument, 'e', 126, "");
    options.timeout_ns = 1000000000;
    return tern_sandbox_run(&options, result);
}

static void expect_refusal(size_t bytes, const char *text) {
    tern_sandbox_result result = {TERN_SANDBOX_STOPPED, -1, 0, 0, 0, 0};
    CU_ASSERT_FATAL(write_file(bytes));
    EXPECT(TERN_ERR_ARGUMENT, run_file(play.path, &result));
    EXPECT_DETAIL(text);
    EXPECT_DETAIL(play.path);
    CU_ASSERT_EQUAL(result.end, TERN_SANDBOX_STOPPED); /* the result is unchanged */
    (void)unlink(play.path);
}

/* ---- Changes ---- */

/* Changes bytes at an offset of the file, and expects a refusal. */
static void put(size_t at, const void *value, size_t bytes, const char *text) {
    memcpy(play.bad, play.good, play.bytes);
    memcpy(play.bad + at, value, bytes);
    expect_refusal(play.bytes, text);
}

#define PUT(field, type, value, text)                                                              \
    do {                                                                                           \
        type v_ = (value);                                                                         \
        put(offsetof(Elf64_Ehdr, field), &v_, sizeof v_, text);                                    \
    } while (0)

/* Returns the first part of a type. [out] at: offset of its header in the file. */
static Elf64_Phdr part_of(uint32_t type, size_t *at) {
    Elf64_Ehdr head;
    Elf64_Phdr part;
    memcpy(&head, play.good, sizeof head);
    for (size_t i = 0; i < head.e_phnum; i++) {
        *at = head.e_phoff + i * sizeof part;
        memcpy(&part, play.good + *at, sizeof part);
        if (part.p_type == type)
            return part;
    }
    CU_FAIL_FATAL("the program lacks a part");
    return part;
}

static void put_part(uint32_t type, Elf64_Phdr part, const char *text) {
    size_t at = 0;
    (void)part_of(type, &at);
    put(at, &part, sizeof part, text);
}

/* Returns the dynamic entry with a tag, which must exist. [out] at: its offset in the file. */
static Elf64_Dyn entry_of(int64_t tag, size_t *at) {
    size_t unused;
    Elf64_Phdr part = part_of(PT_DYNAMIC, &unused);
    Elf64_Dyn entry;
    for (*at = part.p_offset;; *at += sizeof entry) {
        memcpy(&entry, play.good + *at, sizeof entry);
        if (entry.d_tag == tag || entry.d_tag == DT_NULL)
            break;
    }
    CU_ASSERT_EQUAL_FATAL(entry.d_tag, tag);
    return entry;
}

static void put_entry(int64_t tag, Elf64_Dyn entry, const char *text) {
    size_t at = 0;
    (void)entry_of(tag, &at);
    put(at, &entry, sizeof entry, text);
}

/* ---- Tests ---- */

static void not_there(void) {
    tern_sandbox_result result;
    EXPECT(TERN_ERR_SYSTEM, run_file("/nowhere", &result));
    EXPECT_DETAIL("/nowhere: No such file");
    EXPECT(TERN_ERR_ARGUMENT, run_file("/tmp", &result));
    EXPECT_DETAIL("no regular file");
    EXPECT(TERN_ERR_ARGUMENT, run_file("/dev/null", &result));
    EXPECT_DETAIL("no regular file");
}

/* Runs in a process without root's rights. */
static int run_unreadable(void) {
    tern_sandbox_result result;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        return 2;
    return run_file(play.path, &result) != TERN_ERR_SYSTEM ||
           strstr(tern_error_detail(), "Permission denied") == NULL;
}

static void not_readable(void) {
    memcpy(play.bad, play.good, play.bytes);
    CU_ASSERT_FATAL(write_file(play.bytes) && chmod(play.path, 0) == 0);
    pid_t child = fork();
    if (child == 0)
        _exit(run_unreadable());
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    (void)unlink(play.path);
}

static void no_programs(void) {
    memcpy(play.bad, "#!/bin/sh\nexit 0\n", 17);
    expect_refusal(0, "no 64-bit ELF");
    expect_refusal(17, "no 64-bit ELF");
    memcpy(play.bad, play.good, play.bytes);
    expect_refusal(sizeof(Elf64_Ehdr) - 1, "no 64-bit ELF");
    expect_refusal(sizeof(Elf64_Ehdr), "program headers are not in the file");
    expect_refusal(play.bytes / 8, "not in the file");
    PUT(e_ident[EI_CLASS], unsigned char, ELFCLASS32, "no 64-bit ELF");
    PUT(e_machine, Elf64_Half, EM_S390, "another processor");
    PUT(e_type, Elf64_Half, ET_EXEC, "-static-pie");
    PUT(e_phoff, Elf64_Off, play.bytes, "program headers");
    PUT(e_phnum, Elf64_Half, 0, "no entry");
    PUT(e_entry, Elf64_Addr, UINT64_MAX, "no entry");
}

static void parts(void) {
    size_t at;
    Elf64_Phdr part = part_of(PT_LOAD, &at), changed = part;
    changed.p_type = PT_INTERP;
    put_part(PT_LOAD, changed, "shared libraries");
    changed.p_type = PT_TLS;
    put_part(PT_LOAD, changed, "thread-local");
    changed = part;
    changed.p_offset = play.bytes;
    put_part(PT_LOAD, changed, "a part of it is not in the file");
    changed = part;
    changed.p_memsz = part.p_filesz - 1;
    put_part(PT_LOAD, changed, "a part of it is not in the file");
    changed = part;
    changed.p_memsz = (uint64_t)1 << 30;
    put_part(PT_LOAD, changed, "larger than program_bytes");
    changed = part;
    changed.p_vaddr = UINT64_MAX - 8;
    put_part(PT_LOAD, changed, "larger than program_bytes");
    changed = part_of(PT_DYNAMIC, &at);
    put_part(PT_GNU_STACK, changed, "two dynamic sections");
    changed.p_vaddr = UINT64_MAX - 8;
    put_part(PT_DYNAMIC, changed, "dynamic section");
}

static void relocations(void) {
    size_t at, unused;
    Elf64_Dyn table = entry_of(DT_RELA, &unused), bytes = entry_of(DT_RELASZ, &unused);
    static const struct {
        int64_t tag;
        const char *text;
    } tags[] = {{DT_NEEDED, "a shared library"},
                {36 /* DT_RELR */, "nopack-relative-relocs"},
                {DT_REL, "without addends"},
                {DT_PLTRELSZ, "chosen when it is loaded"}};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        put_entry(DT_RELA, (Elf64_Dyn){tags[i].tag, {24}}, tags[i].text);
    put_entry(DT_RELA, (Elf64_Dyn){DT_RELA, {UINT64_MAX - 8}}, "relocations are not in the file");
    put_entry(DT_RELAENT, (Elf64_Dyn){DT_RELAENT, {16}}, "of another size");
    put_entry(DT_RELASZ, (Elf64_Dyn){DT_RELASZ, {UINT64_MAX}}, "relocations are not in the file");
    /* The table is in the first part, whose offsets in the file and in memory are the same. */
    Elf64_Phdr first = part_of(PT_LOAD, &at);
    CU_ASSERT_FATAL(first.p_vaddr == 0 && first.p_offset == 0 &&
                    table.d_un.d_ptr < first.p_filesz && bytes.d_un.d_val >= sizeof(Elf64_Rela));
    Elf64_Rela one;
    memcpy(&one, play.good + table.d_un.d_ptr, sizeof one);
    Elf64_Rela changed = one;
    changed.r_info = ELF64_R_INFO(1, 6);
    put(table.d_un.d_ptr, &changed, sizeof changed, "not relative");
    changed = one;
    changed.r_offset = UINT64_MAX - 4;
    put(table.d_un.d_ptr, &changed, sizeof changed, "a relocation is not in it");
}

/* The file unchanged, and with random changes in its headers and tables. Each time it is refused
 * with a reason, or it runs. Unchanged, it exits with 126. */
static void changed_anywhere(void) {
    uint64_t random = tern_test_seed();
    size_t unused, tables = part_of(PT_DYNAMIC, &unused).p_offset;
    tern_sandbox_result result;
    int before = sandbox_descriptors(NULL), refused = 0;
    memcpy(play.bad, play.good, play.bytes);
    for (int i = 0; i < (tern_test_full() ? 1500 : 30); i++) {
        CU_ASSERT_FATAL(write_file(play.bytes));
        tern_status status = run_file(play.path, &result);
        (void)unlink(play.path);
        if (i == 0)
            CU_ASSERT(status == TERN_OK && result.end == TERN_SANDBOX_EXITED && result.code == 126);
        if (status != TERN_OK)
            EXPECT(TERN_ERR_ARGUMENT, status);
        refused += status != TERN_OK;
        memcpy(play.bad, play.good, play.bytes);
        for (int changes = 1 + i % 3; changes > 0; changes--) {
            uint64_t pick = tern_test_random(&random);
            size_t at = pick % 3 == 0 ? tables + pick / 3 % 200 : pick / 3 % 500;
            play.bad[at % play.bytes] = (unsigned char)(pick >> 56);
        }
    }
    CU_ASSERT(refused > 0);
    CU_ASSERT_EQUAL(sandbox_descriptors(NULL), before);
}

int main(int argc, char **argv) {
    static tern_test_case tests[] = {
        {"not_there", not_there},     {"not_readable", not_readable},
        {"no_programs", no_programs}, {"parts", parts},
        {"relocations", relocations}, {"changed_anywhere", changed_anywhere}};
    if (!read_program()) {
        perror(TERN_TEST_PROGRAM);
        return 1;
    }
    int code =
        sandbox_test_main(argc, argv, "sandbox_programs", tests, sizeof tests / sizeof tests[0]);
    free(play.good);
    free(play.bad);
    return code;
}
