#include "keys.h"

/* A bijection that looks random: the finalizer of the generator SplitMix64. */
static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void keys_draw(uint32_t *keys, uint64_t first, size_t count, uint64_t seed, distribution how) {
    const uint64_t golden = 0x9e3779b97f4a7c15u, start = mix(seed + golden);
    for (size_t i = 0; i < count; i++) {
        uint64_t random = mix(start + (how == KEYS_EQUAL ? 0 : (first + i) * golden));
        keys[i] = (uint32_t)(random >> 32) | (how == KEYS_NARROW ? 0xffff0000u : 0);
    }
}

content keys_content(const uint32_t *keys, size_t count) {
    content c = {.count = count};
    for (size_t i = 0; i < count; i++) {
        c.sum += keys[i];
        c.hashes += mix(keys[i] + UINT64_C(1));
    }
    return c;
}

bool keys_in_order(const uint32_t *keys, size_t count, uint64_t low, uint64_t high) {
    for (size_t i = 1; i < count; i++)
        if (keys[i - 1] > keys[i])
            return false;
    return count == 0 || (keys[0] >= low && keys[count - 1] < high);
}
