const CRLF = '\r\n'

/**
 * Bytes as one chunk of an HTTP/1.1 body. Node writes a chunk as four pieces, which for the few words of a model costs
 * more than the words; in one buffer they are one.
 */
export function asChunk(bytes: Buffer): Buffer {
  const size = bytes.length.toString(16) + CRLF
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + CRLF.length)
  chunk.write(size, 0, 'latin1')
  chunk.set(bytes, size.length)
  chunk.write(CRLF, size.length + bytes.length, 'latin1')
  return chunk
}
