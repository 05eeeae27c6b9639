/* Receives a file by ZMODEM (or the protocol whose number is the second argument) on stdin and stdout: receive FILE [N]. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
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
    return got > 0 ? (int32_t)got : -1; /* 0 is the end of the line */
}

static int32_t put(void *context, const uint8_t *bytes, size_t len)
{
    (void)context;
    return (int32_t)write(1, bytes, len);
}

static uint64_t now_ms(void *context)
{
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int32_t begin(void *context, const uint8_t *name, size_t name_len, int64_t size)
{
    (void)context;
    fprintf(stderr, "%.*s, %lld bytes\n", (int)name_len, (const char *)name, (long long)size);
    return 0;
}

static int32_t data(void *context, const uint8_t *bytes, size_t len)
{
    return fwrite(bytes, 1, len, context) != len;
}

static int32_t end(void *context, bool complete)
{
    return fflush(context) != 0 || !complete;
}

int main(int argc, char **argv)
{
    uint32_t protocol = argc > 2 ? (uint32_t)atoi(argv[2]) : WST_ZMODEM;
    FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
    wst_port port = {NULL, get, put, now_ms, NULL};
    wst_files files = {file, begin, data, end};
    size_t len = wst_receive_memory(protocol, NULL);
    uint8_t *memory = malloc(len ? len : 1);
    wst_result result = file && memory ? wst_receive(protocol, NULL, memory, len, &port, &files) : WST_USAGE;
    free(memory);
    if (file && fclose(file) != 0)
        result = WST_STORE;
    return (int)result;
}
