/* Feeds damaged transfers to both ends of every protocol: fuzz RUNS [SEED]. A good transfer is recorded; what each end heard in it
 * is damaged and played to that end alone, with functions that fail at times and a clock that no one has to wait for. Under the
 * sanitizers nothing may be touched outside of the memory that was given; every transfer ends; and what is reported as done by a
 * protocol with a check that damage does not fool is the file. */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wetstring.h>

enum { FILE_LEN = 5000, TAPE = 1 << 16, MOST_CALLS = 200000 };

static uint8_t original[FILE_LEN];
static uint64_t state = 1;

static uint32_t die(uint32_t sides)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % sides;
}

/* What one end has heard. */
struct tape {
    uint8_t bytes[TAPE];
    size_t len;
};

/* One end of a transfer: its line, and what it has received. */
struct end {
    int socket; /* -1: the tape is played */
    struct tape *tape;
    size_t at, got;
    uint64_t now;
    uint32_t calls, fails_at; /* 0: no function fails */
    uint8_t file[FILE_LEN + 2048];
    bool too_long;
};

/* Whether a function is to fail now. Nothing may call without end. */
static bool fails(struct end *end)
{
    assert(++end->calls < MOST_CALLS);
    return end->calls == end->fails_at;
}

static int32_t hear(void *context, uint8_t *into, size_t len, uint32_t patience_ms)
{
    struct end *end = context;
    struct tape *tape = end->tape;
    ssize_t got;
    memset(into, 0xA5, len); /* all of it is theirs */
    if (fails(end))
        return -1;
    if (end->socket >= 0) {
        struct pollfd wait = {.fd = end->socket, .events = POLLIN};
        if (poll(&wait, 1, (int)patience_ms) == 0) {
            end->now += patience_ms;
            return 0;
        }
        got = recv(end->socket, into, len, 0);
        if (got > 0 && tape->len + (size_t)got <= TAPE) {
            memcpy(tape->bytes + tape->len, into, (size_t)got);
            tape->len += (size_t)got;
        }
        return got > 0 ? (int32_t)got : -1;
    }
    if (end->at == tape->len || die(1000) == 0) {
        end->now += patience_ms;
        return 0;
    }
    if (len > tape->len - end->at)
        len = tape->len - end->at;
    if (die(2))
        len = 1 + die((uint32_t)len);
    memcpy(into, tape->bytes + end->at, len);
    end->at += len;
    return (int32_t)len;
}

static int32_t say(void *context, const uint8_t *bytes, size_t len)
{
    struct end *end = context;
    uint8_t sum = 0;
    for (size_t i = 0; i < len; i++)
        sum ^= bytes[i]; /* all of it can be read */
    if (fails(end))
        return -1;
    if (end->socket >= 0)
        return (int32_t)send(end->socket, bytes, len, MSG_NOSIGNAL);
    return (int32_t)(len > 1 && sum & 1 ? len / 2 : len);
}

static uint64_t now_ms(void *context)
{
    return ((struct end *)context)->now;
}

static void rest(void *context, uint32_t at_most_ms)
{
    struct end *end = context;
    assert(++end->calls < MOST_CALLS);
    if (end->socket >= 0)
        poll(NULL, 0, 1);
    end->now += end->socket >= 0 ? 1 : at_most_ms;
}

static int32_t begin(void *context, const uint8_t *name, size_t name_len, int64_t size)
{
    struct end *end = context;
    uint8_t sum = 0;
    for (size_t i = 0; i < name_len; i++)
        sum ^= name[i];
    end->got = 0;
    end->too_long = false;
    return fails(end) || (sum == 0xFF && size == 3);
}

static int32_t data(void *context, const uint8_t *bytes, size_t len)
{
    struct end *end = context;
    for (size_t i = 0; i < len; i++)
        if (end->got < sizeof end->file)
            end->file[end->got++] = bytes[i];
        else
            end->too_long = true;
    return fails(end);
}

static int32_t finish(void *context, bool complete)
{
    (void)complete;
    return fails(context);
}

static int32_t part(void *context, uint64_t offset, uint8_t *into, size_t len)
{
    struct end *end = context;
    assert(len > 0);
    memset(into, 0x5A, len);
    if (fails(end))
        return -1;
    if (offset >= FILE_LEN)
        return 0;
    if (len > FILE_LEN - offset)
        len = (size_t)(FILE_LEN - offset);
    memcpy(into, original + offset, len);
    return (int32_t)len;
}

static wst_options options = {.buffer = 1024, .packet = 400, .reliable = true};

/* A transfer in memory of just the length that it needs. */
static wst_result transfer(uint32_t protocol, bool sends, struct end *end)
{
    wst_port port = {end, hear, say, now_ms, rest};
    wst_files files = {end, begin, data, finish};
    wst_source source = {end, (const uint8_t *)"data.bin", 8, FILE_LEN, part};
    size_t len = (sends ? wst_send_memory : wst_receive_memory)(protocol, &options);
    uint8_t *memory = malloc(len);
    wst_result result;
    assert(memory);
    if (sends)
        result = wst_send(protocol, &options, memory, len, &port, &source);
    else
        result = wst_receive(protocol, &options, memory, len, &port, &files);
    free(memory);
    return result;
}

static struct end ends[2];
static uint32_t recorded;

static void *sender(void *result)
{
    *(wst_result *)result = transfer(recorded, true, &ends[1]);
    shutdown(ends[1].socket, SHUT_WR);
    return NULL;
}

/* A good transfer; what each end hears is on its tape. */
static void record(uint32_t protocol, struct tape *heard)
{
    int sockets[2];
    pthread_t thread;
    wst_result sent, received;
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    recorded = protocol;
    for (int i = 0; i < 2; i++) {
        memset(&ends[i], 0, sizeof ends[i]);
        heard[i].len = 0;
        ends[i].socket = sockets[i];
        ends[i].tape = &heard[i];
    }
    assert(pthread_create(&thread, NULL, sender, &sent) == 0);
    received = transfer(protocol, false, &ends[0]);
    shutdown(sockets[0], SHUT_WR);
    assert(pthread_join(thread, NULL) == 0);
    assert(sent == WST_DONE && received == WST_DONE);
    assert(ends[0].got >= FILE_LEN && memcmp(ends[0].file, original, FILE_LEN) == 0);
    close(sockets[0]);
    close(sockets[1]);
}

/* Flips, losses, insertions, repetitions and cuts. */
static void damage(struct tape *tape)
{
    for (uint32_t hits = die(5); hits > 0 && tape->len > 0; hits--) {
        size_t at = die((uint32_t)tape->len), len = 1 + die(die(2) ? 4 : 300);
        if (len > tape->len - at)
            len = tape->len - at;
        switch (die(6)) {
        case 0:
            tape->bytes[at] ^= (uint8_t)(1u << die(8));
            break;
        case 1:
            tape->bytes[at] = (uint8_t)die(256);
            break;
        case 2: /* lost */
            memmove(tape->bytes + at, tape->bytes + at + len, tape->len - at - len);
            tape->len -= len;
            break;
        case 3: /* twice */
            if (tape->len + len > TAPE)
                break;
            memmove(tape->bytes + at + len, tape->bytes + at, tape->len - at);
            tape->len += len;
            break;
        case 4: /* noise between */
            for (size_t i = 0; i < len; i++)
                tape->bytes[at + i] = (uint8_t)die(256);
            break;
        default:
            if (die(4) == 0)
                tape->len = at;
        }
    }
}

int main(int argc, char **argv)
{
    static struct tape heard[2], played;
    static struct end end;
    uint32_t runs = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000, done = 0;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (size_t i = 0; i < FILE_LEN; i++)
        original[i] = (uint8_t)die(256);
    for (uint32_t protocol = WST_XMODEM; protocol <= WST_KERMIT; protocol++) {
        record(protocol, heard);
        for (uint32_t run = 0; run < runs; run++) {
            bool sends = run & 1;
            wst_result result;
            played = heard[sends];
            damage(&played);
            memset(&end, 0, sizeof end);
            end.socket = -1;
            end.tape = &played;
            end.fails_at = die(4) ? 0 : 1 + die(60);
            result = transfer(protocol, sends, &end);
            assert(result == WST_DONE || result == WST_LINE || result == WST_PEER || result == WST_STORE);
            done += result == WST_DONE;
            if (result == WST_DONE && !sends && protocol >= WST_ZMODEM && end.got > 0)
                assert(!end.too_long && end.got == FILE_LEN && memcmp(end.file, original, FILE_LEN) == 0);
        }
    }
    printf("%u of %u damaged transfers came through\n", done, runs * (WST_KERMIT + 1));
    return 0;
}
