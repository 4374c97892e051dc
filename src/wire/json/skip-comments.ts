const [COLON, NEWLINE, SPACES] = [0x3a, 0x0a, new Set([0x20, 0x09, 0x0d, 0x0a])]

/**
 * JSON without what servers send before it to keep a connection alive while it is made: blank lines (DeepSeek), and comments
 * as in a stream (OpenRouter). The rest is the same bytes.
 */
export function skipComments(body: Buffer): Buffer {
  let at = 0
  for (;;) {
    while (SPACES.has(body[at] ?? 0)) at++
    if (body[at] !== COLON) return body.subarray(at)
    const end = body.indexOf(NEWLINE, at)
    at = end === -1 ? body.length : end + 1
  }
}
