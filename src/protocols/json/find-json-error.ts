/** Where a text stops being JSON, and what could have stood there. The offset is the text's length where it just ends. */
interface JsonError {
  readonly offset: number
  readonly expected: string
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const COMMA = 0x2c
const COLON = 0x3a
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39

const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word))

/**
 * The grammar of RFC 8259, walked only after JSON.parse has refused: its own messages quote the client's text and, for
 * most mistakes, do not say where they are. Keeps a stack of its own, so depth cannot exhaust the call stack, and looks at
 * every byte once. Undefined where there is nothing to say: the text is JSON after all.
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
  const word = WORDS.find((candidate) => candidate[0] === bytes[start])
  if (word?.equals(bytes.subarray(start, start + word.length))) return start + word.length
  return afterNumber(bytes, start) ?? { offset: start, expected: 'a value' }
}

/** What is no number behind a whole one, such as the dot of `1.`, is left for the caller to stumble on. */
function afterNumber(bytes: Buffer, start: number): number | undefined {
  const first = bytes[start] === MINUS ? start + 1 : start
  const whole = bytes[first] === ZERO ? first + 1 : afterDigits(bytes, first)
  if (whole === first) return undefined
  const fraction = bytes[whole] === POINT ? afterDigits(bytes, whole + 1) : whole + 1
  const end = fraction > whole + 1 ? fraction : whole
  return afterExponent(bytes, end)
}

function afterExponent(bytes: Buffer, start: number): number {
  if (bytes[start] !== 0x65 && bytes[start] !== 0x45) return start
  const sign = bytes[start + 1]
  const digits = sign === PLUS || sign === MINUS ? start + 2 : start + 1
  const end = afterDigits(bytes, digits)
  return end > digits ? end : start
}

function afterDigits(bytes: Buffer, start: number): number {
  let offset = start
  for (;;) {
    const byte = bytes[offset]
    if (byte === undefined || byte < ZERO || byte > NINE) return offset
    offset += 1
  }
}

function skipSpace(bytes: Buffer, start: number): number {
  let offset = start
  for (;;) {
    const byte = bytes[offset]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return offset
    offset += 1
  }
}
