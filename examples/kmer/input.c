#include "input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gzip.h"

static int map_file(kmer_input *input, kmer_error *error) {
    int result = -1;
    int fd = open(input->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        kmer_fail_system(error, "read", input->name);
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        kmer_fail(error, "%s: is not a regular file", input->name);
        goto out;
    }
    if (info.st_size == 0) {
        kmer_fail(error, "%s: is empty", input->name);
        goto out;
    }
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        kmer_fail_system(error, "read", input->name);
        goto out;
    }
    input->data = data;
    input->size = (size_t)info.st_size;
    input->mapped = true;
    result = 0;
out:
    if (fd >= 0)
        close(fd);
    return result;
}

static int first_inflated(const kmer_input *input, char *first, kmer_error *error) {
    kmer_gzip gzip;
    if (kmer_gzip_open(&gzip, input->name, input->data, input->size, error) != 0)
        return -1;
    size_t got;
    int result = kmer_gzip_read(&gzip, first, 1, &got, error);
    if (result == 0 && got == 0)
        result = kmer_fail(error, "%s: is empty", input->name);
    kmer_gzip_close(&gzip);
    return result;
}

int kmer_input_open(kmer_input *input, const char *name, kmer_error *error) {
    *input = (kmer_input){.name = name, .block = 1 << 18};
    if (name == NULL) {
        input->name = kmer_genome_name;
        input->data = kmer_genome;
        input->size = kmer_genome_size();
    } else if (map_file(input, error) != 0) {
        return -1;
    }

    char first = input->data[0];
    input->gzip = kmer_gzip_is(input->data, input->size);
    if (input->gzip && first_inflated(input, &first, error) != 0)
        goto fail;
    if (first != '>' && first != '@') {
        kmer_fail(error, "%s: is neither FASTA, which begins with '>', nor FASTQ, with '@'",
                  input->name);
        goto fail;
    }
    input->fastq = first == '@';
    return 0;
fail:
    kmer_input_close(input);
    return -1;
}

void kmer_input_close(kmer_input *input) {
    if (input->mapped)
        munmap((void *)(uintptr_t)input->data, input->size);
    input->mapped = false;
}
