#include "src/peers/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process.h"

static void address_note(tern_listener_address *mine, const struct sockaddr *address) {
    if (address->sa_family == AF_INET && mine->count4 < TERN_ADDRESS_V4) {
        const struct sockaddr_in *v4 = (const void *)address;
        mine->v4[mine->count4++] = v4->sin_addr.s_addr;
    } else if (address->sa_family == AF_INET6 && mine->count6 < TERN_ADDRESS_V6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
            memcpy(mine->v6[mine->count6++], &v6->sin6_addr, sizeof mine->v6[0]);
    }
}

void tern_address_find(tern_listener_address *mine) {
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next)
        if (one->ifa_addr != NULL && (one->ifa_flags & IFF_UP) != 0 &&
            (one->ifa_flags & IFF_RUNNING) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0)
            address_note(mine, one->ifa_addr);
    freeifaddrs(all);
}

uint32_t tern_address_read(const tern_context *context, uint32_t rank,
                           tern_listener_address *address) {
    tern_read_once(address, &context->peers.listeners[rank], sizeof *address);
    if (address->port == 0)
        return 0;
    if (address->count4 > TERN_ADDRESS_V4)
        address->count4 = TERN_ADDRESS_V4;
    if (address->count6 > TERN_ADDRESS_V6)
        address->count6 = TERN_ADDRESS_V6;
    if (context->peers.machine[rank] == context->peers.machine[context->rank])
        return 1;
    return 1u + address->count4 + address->count6;
}

uint32_t tern_address_choice(uint32_t count, uint32_t first, uint32_t number) {
    if (count <= 1)
        return 0;
    return 1 + ((first > 0 ? first - 1 : 0) + number) % (count - 1);
}

int tern_address_connect(const tern_listener_address *address, uint32_t index, uint16_t port) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const bool is_v4 = index <= address->count4;
    if (is_v4)
        v4.sin_addr.s_addr = index == 0 ? htonl(INADDR_LOOPBACK) : address->v4[index - 1];
    else
        memcpy(&v6.sin6_addr, address->v6[index - 1 - address->count4], sizeof v6.sin6_addr);
    const int fd =
        socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    const struct sockaddr *to =
        is_v4 ? (const struct sockaddr *)(const void *)&v4 : (const void *)&v6;
    if (connect(fd, to, is_v4 ? sizeof v4 : sizeof v6) == 0 || errno == EINPROGRESS)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

bool tern_address_is_in(const tern_listener_address *one, uint32_t index,
                        const tern_listener_address *other) {
    if (index == 0)
        return true;
    if (index <= one->count4) {
        for (uint32_t i = 0; i < other->count4; i++)
            if (other->v4[i] == one->v4[index - 1])
                return true;
        return false;
    }
    for (uint32_t i = 0; i < other->count6; i++)
        if (memcmp(other->v6[i], one->v6[index - 1 - one->count4], sizeof other->v6[i]) == 0)
            return true;
    return false;
}
