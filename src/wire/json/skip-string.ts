const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Below this length a byte loop finds the closing quote sooner than a call into native code does. */
const SHORT_STRING_BYTES = 32

/**
 * The offset behind the closing quote of a string, whatever is in it; -1 when it is not there. A stretch of bytes is walked,
 * then the next quote is searched natively; one that turns out to be escaped starts another stretch, so that text full of `\"`
 * does not pay a native call for each.
 */
export function skipString(bytes: Buffer, openingQuote: number): number {
  const end = bytes.length
  let offset = openingQuote + 1
  for (;;) {
    const stretchEnd = Math.min(offset + SHORT_STRING_BYTES, end)
    while (offset < stretchEnd) {
      const byte = bytes[offset]!
      if (byte === QUOTE) return offset + 1
      offset += byte === BACKSLASH ? 2 : 1
    }
    if (offset >= end) return -1
    const quote = bytes.indexOf(QUOTE, offset)
    if (quote < 0) return -1
    if (backslashesBefore(bytes, quote, offset) % 2 === 0) return quote + 1
    offset = quote + 1
  }
}

/** Looks back no further than `floor`, which is known not to be escaped: so no byte is looked at twice. */
function backslashesBefore(bytes: Buffer, quote: number, floor: number): number {
  let offset = quote
  while (offset > floor && bytes[offset - 1] === BACKSLASH) offset -= 1
  return quote - offset
}
