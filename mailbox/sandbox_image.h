#ifndef TERN_MAILBOX_SANDBOX_IMAGE_H
#define TERN_MAILBOX_SANDBOX_IMAGE_H

/*
 * A program's file: a position-independent ELF executable that needs no library. The server checks
 * it to tell its caller what is wrong; the helper loads it, inside the sandbox, where a mistake
 * harms nobody but the program. Nothing in the file is believed: sizes and places are compared by
 * subtraction, which does not overflow. Freestanding.
 */

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define TERN_IMAGE_MACHINE EM_X86_64
#define TERN_IMAGE_RELATIVE R_X86_64_RELATIVE
#else
#define TERN_IMAGE_MACHINE EM_AARCH64
#define TERN_IMAGE_RELATIVE R_AARCH64_RELATIVE
#endif

static inline int tern_image_holds(uint64_t whole, uint64_t at, uint64_t bytes) {
    return at <= whole && bytes <= whole - at;
}

static inline Elf64_Phdr tern_image_part(const uint8_t *image, uint64_t index) {
    Elf64_Ehdr head;
    Elf64_Phdr part;
    __builtin_memcpy(&head, image, sizeof head);
    __builtin_memcpy(&part, image + head.e_phoff + index * sizeof part, sizeof part);
    return part;
}

/* NULL: it can be loaded into so much room; else what is wrong. [out] entry, parts. */
static inline const char *tern_image_check(const uint8_t *image, uint64_t bytes, uint64_t room,
                                           uint64_t *entry, uint64_t *parts) {
    static const uint8_t start[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    Elf64_Ehdr head;
    int loads = 0;
    if (bytes < sizeof head || __builtin_memcmp(image, start, sizeof start) != 0)
        return "it is no 64-bit ELF file";
    __builtin_memcpy(&head, image, sizeof head);
    if (head.e_machine != TERN_IMAGE_MACHINE)
        return "it is for another processor";
    if (head.e_type != ET_DYN)
        return "it is not position-independent: link with -static-pie";
    if (head.e_phentsize != sizeof(Elf64_Phdr) ||
        !tern_image_holds(bytes, head.e_phoff, head.e_phnum * sizeof(Elf64_Phdr)))
        return "its program headers are not in the file";
    for (uint64_t i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part = tern_image_part(image, i);
        if (part.p_type == PT_INTERP)
            return "it needs shared libraries: link with -nostdlib -static-pie "
                   "-Wl,--no-dynamic-linker";
        if (part.p_type == PT_TLS)
            return "it has thread-local variables";
        if (part.p_type != PT_LOAD)
            continue;
        loads++;
        if (part.p_filesz > part.p_memsz || !tern_image_holds(bytes, part.p_offset, part.p_filesz))
            return "a part of it is not in the file";
        if (!tern_image_holds(room, part.p_vaddr, part.p_memsz))
            return "with its data it is larger than program_bytes";
    }
    if (loads == 0 || head.e_entry >= room)
        return "it has no entry";
    *entry = head.e_entry;
    *parts = head.e_phnum;
    return NULL;
}

#endif
