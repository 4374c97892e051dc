const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b
const CLOSE_BRACKET = 0x5d
const CLOSE_BRACE = 0x7d

/** The items of a list, as bytes, as far as they end within `bytesMax`. The list is JSON that was scanned before. */
export function* itemsOf(list: Buffer, bytesMax: number): Generator<Buffer> {
  const end = Math.min(list.length, bytesMax)
  let depth = 0
  let start = 1
  for (let at = 0; at < end; at++) {
    const byte = list[at]
    if (byte === QUOTE) at = endOfString(list, at)
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--
    const isItemsEnd = depth === 0 || (depth === 1 && byte === COMMA)
    if (!isItemsEnd) continue
    if (at > start) yield list.subarray(start, at)
    if (depth === 0) return
    start = at + 1
  }
}

/** Where the quote stands that closes a string. */
function endOfString(bytes: Buffer, open: number): number {
  for (let at = open + 1; ; at++) {
    at = bytes.indexOf(QUOTE, at)
    if (at < 0) return bytes.length
    let backslashes = 0
    while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return at
  }
}
