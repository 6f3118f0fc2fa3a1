/* Runs inside the sandbox. For each word it reads the file of that name, counts its content, and
 * writes it in capitals to NAME.capitals. The word --getpid makes a system call, --spin never
 * ends. */
#define TERN_SANDBOX_PROGRAM
#include <asm/unistd.h>
#include <linux/errno.h>
#include <tern/sandbox_printf.h>

typedef struct counts {
    uint64_t lines, words, bytes;
    int in_word;
} counts;

static const char *reason(int64_t error) {
    switch (-error) {
    case EXDEV:
        return "refused: that is not in my directory";
    case ENOENT:
        return "it is not there";
    case EACCES:
        return "refused: that is no file, or not for me";
    case EDQUOT:
        return "refused: I have written enough";
    case ENAMETOOLONG:
        return "refused: what a name";
    default:
        return "no";
    }
}

static void shout(char *text, int64_t bytes, counts *sum) {
    for (int64_t i = 0; i < bytes; i++) {
        int blank = text[i] == ' ' || text[i] == '\n' || text[i] == '\t';
        sum->lines += text[i] == '\n';
        sum->words += !blank && !sum->in_word;
        sum->in_word = !blank;
        if (text[i] >= 'a' && text[i] <= 'z')
            text[i] = (char)(text[i] - 'a' + 'A');
    }
    sum->bytes += (uint64_t)bytes;
}

/* Returns 0 or -errno. */
static int64_t copy(tern_sandbox_box *box, int64_t from, int64_t to, counts *sum) {
    static char text[TERN_SANDBOX_DATA];
    for (;;) {
        uint64_t at = sum->bytes;
        int64_t got = tern_sandbox_read(box, from, at, text, sizeof text);
        if (got <= 0)
            return got;
        shout(text, got, sum);
        for (int64_t done = 0; done < got;) {
            int64_t more = tern_sandbox_write(box, to, at + (uint64_t)done, text + done,
                                              (uint64_t)(got - done));
            if (more < 0)
                return more;
            done += more;
        }
    }
}

/* Returns 0 or -errno. */
static int64_t capitals(tern_sandbox_box *box, const char *name, counts *sum) {
    static const char end[] = ".capitals";
    char other[256];
    size_t length = tern_sandbox_length(name);
    int64_t from = tern_sandbox_open(box, name, TERN_SANDBOX_FOR_READING);
    if (from < 0)
        return from;
    int64_t to = -ENAMETOOLONG;
    if (length + sizeof end <= sizeof other) {
        memcpy(other, name, length);
        memcpy(other + length, end, sizeof end);
        to = tern_sandbox_open(
            box, other, TERN_SANDBOX_FOR_WRITING | TERN_SANDBOX_CREATE | TERN_SANDBOX_TRUNCATE);
    }
    int64_t result = to < 0 ? to : copy(box, from, to, sum);
    if (to >= 0)
        (void)tern_sandbox_close(box, to);
    (void)tern_sandbox_close(box, from);
    return result;
}

static int is(const char *word, const char *other) {
    size_t length = tern_sandbox_length(other);
    return tern_sandbox_length(word) == length && memcmp(word, other, length) == 0;
}

int tern_sandbox_main(tern_sandbox_box *box) {
    int failed = 0;
    const char *end = (const char *)box->argument + box->argument_bytes;
    for (const char *word = (const char *)box->argument; word < end;
         word += tern_sandbox_length(word) + 1) {
        counts sum = {0, 0, 0, 0};
        if (is(word, "--getpid"))
            return (int)tern_sandbox_system(__NR_getpid, 0);
        while (is(word, "--spin"))
            tern_mailbox_pause();
        int64_t error = capitals(box, word, &sum);
        failed |= error != 0;
        if (error != 0)
            (void)tern_sandbox_printf(box, "%s: %s (error %ld)\n", word, reason(error), -error);
        else
            (void)tern_sandbox_printf(box, "%s: %lu lines, %lu words, %lu bytes\n", word, sum.lines,
                                      sum.words, sum.bytes);
    }
    return failed;
}
