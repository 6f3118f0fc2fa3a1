#ifndef TERN_MAILBOX_SANDBOX_IMAGE_H
#define TERN_MAILBOX_SANDBOX_IMAGE_H

/*
 * The file of a program: a position-independent ELF executable that needs no library. The server
 * checks the file, to tell its caller what is wrong. The helper checks it again and loads it inside
 * the sandbox, where a mistake harms only the program. Both read the same bytes, so the helper
 * finds no error that the server has not found: every program that is started is also loaded.
 *
 * The checks trust nothing in the file. They compare sizes and offsets by subtraction, which does
 * not overflow. They go through each table once, because the server makes them before the deadline
 * begins. Functions that other loaders call before the entry (DT_INIT, DT_INIT_ARRAY) and after the
 * end are not called. Freestanding.
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

/* Returns the bytes that the program finds at an address before it runs, if they lie in the file in
 * one piece, else NULL. */
static inline const uint8_t *tern_image_at(const uint8_t *image, uint64_t parts, uint64_t at,
                                           uint64_t bytes) {
    for (uint64_t i = 0; i < parts; i++) {
        Elf64_Phdr part = tern_image_part(image, i);
        if (part.p_type == PT_LOAD && at >= part.p_vaddr &&
            tern_image_holds(part.p_filesz, at - part.p_vaddr, bytes))
            return image + part.p_offset + (at - part.p_vaddr);
    }
    return NULL;
}

typedef struct tern_image_list {
    const uint8_t *from; /* relocations, which need not be aligned */
    uint64_t count;
} tern_image_list;

static inline Elf64_Rela tern_image_relocation(const tern_image_list *list, uint64_t index) {
    Elf64_Rela one;
    __builtin_memcpy(&one, list->from + index * sizeof one, sizeof one);
    return one;
}

/* Reads the dynamic section: what the loader has to do after it has copied the parts, which have
 * been checked. Returns NULL, or what is wrong. [out] list: the relocations, which may be none. */
static inline const char *tern_image_dynamic(const uint8_t *image, uint64_t parts,
                                             const Elf64_Phdr *dynamic, tern_image_list *list) {
    uint64_t at = 0, bytes = 0;
    const uint8_t *entries = tern_image_at(image, parts, dynamic->p_vaddr, dynamic->p_filesz);
    if (entries == NULL)
        return "its dynamic section is not in the file";
    for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        __builtin_memcpy(&entry, entries + i * sizeof entry, sizeof entry);
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_NEEDED)
            return "it needs a shared library";
        if (entry.d_tag == DT_RELR)
            return "it has packed relocations: link with -Wl,-z,nopack-relative-relocs";
        if (entry.d_tag == DT_REL)
            return "it has relocations without addends";
        if (entry.d_tag == DT_RELAENT && entry.d_un.d_val != sizeof(Elf64_Rela))
            return "its relocations are of another size";
        if (entry.d_tag == DT_PLTRELSZ && entry.d_un.d_val != 0)
            return "it calls functions that are not in it, or are chosen when it is loaded";
        if (entry.d_tag == DT_RELA)
            at = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_RELASZ)
            bytes = entry.d_un.d_val;
    }
    list->count = bytes / sizeof(Elf64_Rela);
    list->from = list->count > 0 ? tern_image_at(image, parts, at, bytes) : image;
    return list->from == NULL ? "its relocations are not in the file" : NULL;
}

/* Reads and checks the relocations. All must be of one kind, which stores an address of the program
 * in a word of the program's memory. Returns NULL, or what is wrong. [out] list. */
static inline const char *tern_image_relocations(const uint8_t *image, uint64_t parts,
                                                 uint64_t room, tern_image_list *list) {
    const char *wrong = NULL;
    int sections = 0;
    *list = (tern_image_list){image, 0};
    for (uint64_t i = 0; i < parts && wrong == NULL; i++) {
        Elf64_Phdr part = tern_image_part(image, i);
        if (part.p_type == PT_DYNAMIC)
            wrong = sections++ > 0 ? "it has two dynamic sections"
                                   : tern_image_dynamic(image, parts, &part, list);
    }
    for (uint64_t i = 0; wrong == NULL && i < list->count; i++) {
        Elf64_Rela one = tern_image_relocation(list, i);
        if (ELF64_R_TYPE(one.r_info) != TERN_IMAGE_RELATIVE)
            wrong = "it refers to what is not in it: a relocation is not relative";
        else if (!tern_image_holds(room, one.r_offset, sizeof(uint64_t)))
            wrong = "a relocation is not in it";
    }
    return wrong;
}

/* Returns NULL if the image can be loaded into room bytes, else what is wrong. [out] entry, parts,
 * list. */
static inline const char *tern_image_check(const uint8_t *image, uint64_t bytes, uint64_t room,
                                           uint64_t *entry, uint64_t *parts,
                                           tern_image_list *list) {
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
    return tern_image_relocations(image, head.e_phnum, room, list);
}

#endif
