/* Sends a file by the protocol whose number is the second argument, on stdin and stdout: send FILE N. What is wrong with
 * arguments is tried first. */
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wetstring.h>

static int32_t get(void *context, uint8_t *into, size_t len, uint32_t patience_ms)
{
    struct pollfd wait = {.fd = 0, .events = POLLIN};
    ssize_t got;
    (void)context;
    if (poll(&wait, 1, (int)patience_ms) <= 0)
        return 0;
    got = read(0, into, len);
    return got > 0 ? (int32_t)got : -1;
}

/* A few bytes at a time, as a UART takes them. */
static int32_t put(void *context, const uint8_t *bytes, size_t len)
{
    (void)context;
    return (int32_t)write(1, bytes, len > 61 ? 61 : len);
}

static uint64_t now_ms(void *context)
{
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int32_t part(void *context, uint64_t offset, uint8_t *into, size_t len)
{
    if (fseek(context, (long)offset, SEEK_SET) != 0)
        return -1;
    return (int32_t)fread(into, 1, len, context);
}

int main(int argc, char **argv)
{
    uint32_t protocol = argc > 2 ? (uint32_t)atoi(argv[2]) : WST_ZMODEM;
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    wst_port port = {NULL, get, put, now_ms, NULL}, none = {NULL, NULL, NULL, NULL, NULL};
    wst_options options = {.buffer = 2048, .packet = 500, .reliable = true};
    size_t len = wst_send_memory(protocol, &options);
    uint8_t *memory = malloc(len);
    wst_source source = {file, (const uint8_t *)"data.bin", 8, 0, part};
    wst_result result;
    assert(file && memory && fseek(file, 0, SEEK_END) == 0);
    source.size = (uint64_t)ftell(file);
    assert(wst_send_memory(99, NULL) == 0 && wst_receive_memory(99, NULL) == 0);
    assert(wst_send(99, &options, memory, len, &port, &source) == WST_USAGE);
    assert(wst_send(protocol, &options, NULL, len, &port, &source) == WST_USAGE);
    assert(wst_send(protocol, &options, memory, len - 1, &port, &source) == WST_USAGE);
    assert(wst_send(protocol, &options, memory, len, &none, &source) == WST_USAGE);
    assert(wst_send(protocol, &options, memory, len, NULL, &source) == WST_USAGE);
    assert(wst_send(protocol, &options, memory, len, &port, NULL) == WST_USAGE);
    assert(wst_receive(protocol, &options, memory, 10, &port, NULL) == WST_USAGE);
    result = wst_send(protocol, &options, memory, len, &port, &source);
    free(memory);
    fclose(file);
    return (int)result;
}
