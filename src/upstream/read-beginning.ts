import type { UpstreamBody } from './upstream-answer.ts'

/** Error bodies are short; what is longer is a page, and its beginning is enough. */
const BYTES_MAX = 64 * 1024

/** What a refusal says, read to its end or to its bound. */
export async function readBeginning(body: UpstreamBody): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for (let chunks = await body.read(); chunks.length > 0 && size < BYTES_MAX; chunks = await body.read()) {
      for (const chunk of chunks) size += chunk.length
      parts.push(...chunks)
    }
  } catch {
    // A refusal that breaks off is a refusal all the same.
  }
  body.cancel()
  return Buffer.concat(parts).subarray(0, BYTES_MAX)
}
