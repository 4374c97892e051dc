/** Where a text stops being JSON, and what could have stood there. */
export interface JsonError {
  readonly offset: number
  readonly expected: string
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const COMMA = 0x2c
const COLON = 0x3a

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const NUMBER_BYTES_MAX = 4096

/**
 * The grammar of RFC 8259, walked only after JSON.parse has refused: its own messages quote the client's text and, for
 * most mistakes, do not say where they are. Keeps a stack of its own, so depth cannot exhaust the call stack.
 */
export function findJsonError(bytes: Buffer): JsonError | undefined {
  const closers: number[] = []
  let offset = skipSpace(bytes, 0)
  let expects: 'value' | 'first-value' | 'name' | 'first-name' | 'more' = 'value'

  for (;;) {
    const byte = bytes[offset]
    const closer = closers.at(-1)
    const mayClose = expects === 'more' || expects === 'first-value' || expects === 'first-name'
    if (mayClose && closer !== undefined && byte === closer) {
      closers.pop()
      offset += 1
      expects = 'more'
    } else if (expects === 'more') {
      if (closer === undefined) return byte === undefined ? undefined : { offset, expected: 'the end of the body' }
      if (byte !== COMMA) return { offset, expected: `',' or '${String.fromCharCode(closer)}'` }
      offset += 1
      expects = closer === closerOf(OPEN_BRACE) ? 'name' : 'value'
    } else if (expects === 'name' || expects === 'first-name') {
      const after = afterName(bytes, offset)
      if (typeof after !== 'number') return after
      offset = after
      expects = 'value'
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      closers.push(closerOf(byte))
      offset += 1
      expects = byte === OPEN_BRACE ? 'first-name' : 'first-value'
    } else {
      const after = byte === QUOTE ? afterString(bytes, offset) : afterScalar(bytes, offset)
      if (typeof after !== 'number') return after
      offset = after
      expects = 'more'
    }
    offset = skipSpace(bytes, offset)
  }
}

/** `{` and `}` are two apart in ASCII, and so are `[` and `]`. */
const closerOf = (opener: number): number => opener + 2

function afterName(bytes: Buffer, start: number): number | JsonError {
  if (bytes[start] !== QUOTE) return { offset: start, expected: 'a name in double quotes' }
  const end = afterString(bytes, start)
  if (typeof end !== 'number') return end
  const colon = skipSpace(bytes, end)
  return bytes[colon] === COLON ? colon + 1 : { offset: colon, expected: "':'" }
}

function afterString(bytes: Buffer, start: number): number | JsonError {
  let offset = start + 1
  while (offset < bytes.length) {
    const byte = bytes[offset]!
    if (byte === QUOTE) return offset + 1
    if (byte < 0x20) return { offset, expected: 'control characters in a string to be escaped' }
    if (byte === BACKSLASH) {
      const length = escapeLength(bytes, offset)
      if (length === 0) return { offset, expected: 'an escape that JSON knows' }
      offset += length
    } else {
      offset += 1
    }
  }
  return { offset: bytes.length, expected: "a closing '\"'" }
}

function escapeLength(bytes: Buffer, backslash: number): number {
  const letter = String.fromCharCode(bytes[backslash + 1] ?? 0)
  if (letter === 'u') return /^[0-9a-fA-F]{4}$/.test(bytes.toString('latin1', backslash + 2, backslash + 6)) ? 6 : 0
  return '"\\/bfnrt'.includes(letter) ? 2 : 0
}

function afterScalar(bytes: Buffer, start: number): number | JsonError {
  for (const word of ['true', 'false', 'null']) {
    if (bytes.toString('latin1', start, start + word.length) === word) return start + word.length
  }
  const digits = bytes.toString('latin1', start, start + NUMBER_BYTES_MAX)
  NUMBER.lastIndex = 0
  const length = NUMBER.exec(digits)?.[0].length ?? 0
  return length > 0 ? start + length : { offset: start, expected: 'a value' }
}

function skipSpace(bytes: Buffer, start: number): number {
  let offset = start
  for (;;) {
    const byte = bytes[offset]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return offset
    offset += 1
  }
}
