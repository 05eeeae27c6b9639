/* Kermit, XMODEM, YMODEM and ZMODEM, without allocation and without libc. MIT or Apache-2.0.
 *
 * A transfer is one call, which returns when it has ended. It uses the memory it is given, about 2 kB of stack, and
 * the functions it is given. It may be used in as many threads as there are lines. */
#ifndef WETSTRING_H
#define WETSTRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Protocols. ZMODEM and Kermit are there unless the library was built without. */
enum wst_protocol {
    WST_XMODEM = 0,     /* with checksums */
    WST_XMODEM_CRC = 1, /* with CRC-16 */
    WST_XMODEM_1K = 2,  /* with blocks of 1024 bytes */
    WST_YMODEM = 3,
    WST_YMODEM_G = 4, /* for lines without errors */
    WST_ZMODEM = 5,
    WST_KERMIT = 6
};

/* How a transfer ended. */
typedef enum wst_result {
    WST_DONE = 0,
    WST_USAGE = 2, /* an argument is wrong: memory too small or NULL, no function, no such protocol */
    WST_LINE = 3,  /* a function of the port failed, or the line damages too much */
    WST_PEER = 4,  /* the peer failed, fell silent, or broke its protocol */
    WST_STORE = 5  /* a function of the files failed */
} wst_result;

/* What may be chosen; zeros are the defaults, and so is NULL instead of this. */
typedef struct wst_options {
    size_t buffer;   /* bytes of file data between engine and functions: XMODEM 128 or more, others 1024; 0 is 4096 */
    uint16_t packet; /* Kermit's longest packet, 94 to 9024; 0 is 1000 */
    bool reliable;   /* the line delivers every byte: a receiver does not stay to repeat its last answer */
} wst_options;

/* A line of bytes and a clock. */
typedef struct wst_port {
    void *context; /* passed to the functions */
    /* Reads what there is, and waits at most patience_ms for the first byte. Returns how many bytes, 0 if none came in
     * time, a negative number if it failed. */
    int32_t (*read)(void *context, uint8_t *into, size_t len, uint32_t patience_ms);
    /* Writes at least one byte. Returns how many, or a negative number if it failed. */
    int32_t (*write)(void *context, const uint8_t *bytes, size_t len);
    /* Milliseconds since some moment; they never go back. */
    uint64_t (*now_ms)(void *context);
} wst_port;

/* What takes files. Each function returns 0, or anything else if it failed. */
typedef struct wst_files {
    void *context; /* passed to the functions */
    /* A file begins. The name is the peer's: no safe path, no NUL behind it, empty with XMODEM. size is -1 if it is
     * not known. If this fails the file is refused. */
    int32_t (*begin)(void *context, const uint8_t *name, size_t name_len, int64_t size);
    /* Its bytes, in order. */
    int32_t (*data)(void *context, const uint8_t *bytes, size_t len);
    /* It ends: whole, or cut short. */
    int32_t (*end)(void *context, bool complete);
} wst_files;

/* A file to send. */
typedef struct wst_source {
    void *context; /* passed to the function */
    const uint8_t *name;
    size_t name_len;
    uint64_t size;
    /* Reads at most len bytes from offset. Returns how many, or a negative number if it failed. */
    int32_t (*read)(void *context, uint64_t offset, uint8_t *into, size_t len);
} wst_source;

/* Bytes of memory that a transfer needs; 0 if there is no such protocol. */
size_t wst_receive_memory(uint32_t protocol, const wst_options *options);
size_t wst_send_memory(uint32_t protocol, const wst_options *options);

/* Receives files until the peer has no more. */
wst_result wst_receive(uint32_t protocol, const wst_options *options, uint8_t *memory, size_t memory_len,
                       const wst_port *port, const wst_files *files);

/* Sends a file. */
wst_result wst_send(uint32_t protocol, const wst_options *options, uint8_t *memory, size_t memory_len,
                    const wst_port *port, const wst_source *source);

#ifdef __cplusplus
}
#endif
#endif
