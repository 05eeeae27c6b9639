/* Kermit, XMODEM, YMODEM and ZMODEM, without allocation and without libc. MIT or Apache-2.0.
 *
 * A transfer is one call, which returns when it has ended. It uses the memory it is given, 3 kB (XMODEM) to 10 kB
 * (Kermit) of stack, and the functions it is given. It may be used in as many threads as there are lines. */

#ifndef WETSTRING_H
#define WETSTRING_H

/* Made of capi/src/lib.rs by `cargo xtask api --write`. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * How a transfer ended.
 */
typedef enum wst_result {
    /**
     * All is transferred.
     */
    WST_DONE = 0,
    /**
     * An argument is wrong: memory too small or NULL, no function, a protocol that the library was built without.
     */
    WST_USAGE = 2,
    /**
     * A function of the port failed, or the line damages too much.
     */
    WST_LINE = 3,
    /**
     * The peer failed, fell silent, or broke its protocol.
     */
    WST_PEER = 4,
    /**
     * A function of the files failed.
     */
    WST_STORE = 5,
} wst_result;

/**
 * A protocol. ZMODEM and Kermit are there unless the library was built without.
 */
typedef enum wst_protocol {
    /**
     * With checksums.
     */
    WST_XMODEM = 0,
    /**
     * With CRC-16.
     */
    WST_XMODEM_CRC = 1,
    /**
     * With blocks of 1024 bytes.
     */
    WST_XMODEM_1K = 2,
    /**
     * Batches, with CRC-16.
     */
    WST_YMODEM = 3,
    /**
     * For lines without errors.
     */
    WST_YMODEM_G = 4,
    /**
     * Batches, with CRC-32.
     */
    WST_ZMODEM = 5,
    /**
     * Batches, for lines that do not carry every byte.
     */
    WST_KERMIT = 6,
} wst_protocol;

/**
 * What may be chosen; zeros are the defaults, and so is NULL instead of this.
 */
typedef struct wst_options {
    /**
     * Bytes of file data between the engine and the functions: XMODEM 128 or more, others 1024; 0 is 4096.
     */
    size_t buffer;
    /**
     * Kermit's longest packet, 94 to 9024; 0 is 1000.
     */
    uint16_t packet;
    /**
     * The line delivers every byte: a receiver does not stay to repeat its last answer.
     */
    bool reliable;
} wst_options;

/**
 * A line of bytes and a clock.
 */
typedef struct wst_port {
    /**
     * Passed to the functions.
     */
    void *context;
    /**
     * Reads what there is, and waits at most patience_ms for the first byte. Returns how many bytes, 0 if none came in
     * time, a negative number if it failed.
     */
    int32_t (*read)(void *context, uint8_t *into, size_t len, uint32_t patience_ms);
    /**
     * Writes at least one byte. Returns how many, or a negative number if it failed.
     */
    int32_t (*write)(void *context, const uint8_t *bytes, size_t len);
    /**
     * Milliseconds since some moment; they never go back.
     */
    uint64_t (*now_ms)(void *context);
    /**
     * Lets at most this time pass, in a pause of the protocol; NULL: now_ms is called until it has passed.
     */
    void (*rest)(void *context, uint32_t at_most_ms);
} wst_port;

/**
 * What takes files. Each function returns 0, or anything else if it failed.
 */
typedef struct wst_files {
    /**
     * Passed to the functions.
     */
    void *context;
    /**
     * A file begins. The name is the peer's: no safe path, no NUL behind it, empty with XMODEM. size is -1 if it is
     * not known. If this fails the file is refused.
     */
    int32_t (*begin)(void *context, const uint8_t *name, size_t name_len, int64_t size);
    /**
     * Its bytes, in order.
     */
    int32_t (*data)(void *context, const uint8_t *bytes, size_t len);
    /**
     * It ends: whole, or cut short.
     */
    int32_t (*end)(void *context, bool complete);
} wst_files;

/**
 * A file to send.
 */
typedef struct wst_source {
    /**
     * Passed to the function.
     */
    void *context;
    /**
     * Its name, which needs no NUL behind it.
     */
    const uint8_t *name;
    /**
     * How many bytes the name has.
     */
    size_t name_len;
    /**
     * How many bytes the file has.
     */
    uint64_t size;
    /**
     * Reads at most len bytes from offset. Returns how many, 0 at the end, a negative number if it failed.
     */
    int32_t (*read)(void *context, uint64_t offset, uint8_t *into, size_t len);
} wst_source;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Bytes of memory that `wst_receive` needs; 0 if the library was built without the protocol.
 *
 * # Safety
 *
 * `options` is null or points to options.
 */
size_t wst_receive_memory(uint32_t protocol, const struct wst_options *options);

/**
 * Bytes of memory that `wst_send` needs; 0 if the library was built without the protocol.
 *
 * # Safety
 *
 * `options` is null or points to options.
 */
size_t wst_send_memory(uint32_t protocol, const struct wst_options *options);

/**
 * Receives files, until the peer has no more or the transfer has failed.
 *
 * # Safety
 *
 * `options` is null or points to options; `memory` points to `memory_len` bytes that nothing else uses meanwhile;
 * `port` and `files` point to structures whose functions are safe to call with their contexts.
 */
enum wst_result wst_receive(uint32_t protocol,
                            const struct wst_options *options,
                            uint8_t *memory,
                            size_t memory_len,
                            const struct wst_port *port,
                            const struct wst_files *files);

/**
 * Sends a file.
 *
 * # Safety
 *
 * As `wst_receive`; `source` points to a structure whose `name` points to `name_len` bytes.
 */
enum wst_result wst_send(uint32_t protocol,
                         const struct wst_options *options,
                         uint8_t *memory,
                         size_t memory_len,
                         const struct wst_port *port,
                         const struct wst_source *source);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WETSTRING_H */
