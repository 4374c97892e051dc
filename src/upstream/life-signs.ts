const LINE_FEED = 0x0a
const COLON = 0x3a

/** Tells chunk by chunk whether there was more in it than a sign of life, however the network cut the lines. */
export type IsSignOfLife = (chunk: Buffer) => boolean

/**
 * Comments and blanks only: what servers send while they have nothing to say. Nearly always the first byte tells; where a
 * chunk ends inside a line, the next one begins in it.
 */
export function createLifeSigns(): IsSignOfLife {
  let line: 'start' | 'comment' | 'words' = 'start'
  return (chunk) => {
    for (let at = 0; at < chunk.length; at++) {
      if (line === 'start') line = lineFrom(chunk, at)
      if (line === 'start') return true
      if (line === 'words') {
        const last = chunk.lastIndexOf(LINE_FEED)
        if (last >= at) line = lineFrom(chunk, last + 1)
        return false
      }
      const end = chunk.indexOf(LINE_FEED, at)
      if (end === -1) return true
      line = 'start'
      at = end
    }
    return true
  }
}

/** What the first line with anything in it is, from here on. */
function lineFrom(chunk: Buffer, from: number): 'start' | 'comment' | 'words' {
  for (let at = from; at < chunk.length; at++) {
    const byte = chunk[at]
    if (byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === LINE_FEED) continue
    return byte === COLON ? 'comment' : 'words'
  }
  return 'start'
}
