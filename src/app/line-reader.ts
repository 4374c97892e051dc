export type LineRead = { readonly kind: 'lines'; readonly lines: readonly string[] } | { readonly kind: 'too-long' }

export interface LineReader {
  read(chunk: Buffer): LineRead
}

/** Cuts bytes into lines. A line that outgrows the bound is reported before it is kept, so memory stays bounded. */
export function createLineReader(lineBytesMax: number): LineReader {
  let parts: Buffer[] = []
  let size = 0
  return {
    read(chunk) {
      const lines: string[] = []
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const last = chunk.subarray(start, end)
        if (size + last.length > lineBytesMax) return { kind: 'too-long' }
        lines.push(Buffer.concat([...parts, last]).toString('utf8'))
        parts = []
        size = 0
        start = end + 1
      }
      const rest = chunk.subarray(start)
      if (size + rest.length > lineBytesMax) return { kind: 'too-long' }
      if (rest.length > 0) parts.push(rest)
      size += rest.length
      return { kind: 'lines', lines }
    },
  }
}
