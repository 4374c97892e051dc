/** Where a text stops being JSON, and what was expected there. The offset is the text's length where it just ends. */
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

const LITERALS = ['true', 'false', 'null']

/**
 * Finds the first error by the grammar of RFC 8259, after JSON.parse has refused: its own messages quote the client's text
 * and mostly do not give a place. An explicit stack keeps depth from exhausting the call stack, and every byte is read once.
 * Undefined where the text is JSON after all.
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
  const literal = LITERALS.find((each) => bytes.toString('latin1', start, start + each.length) === each)
  if (literal !== undefined) return start + literal.length
  return afterNumber(bytes, start) ?? { offset: start, expected: 'a value' }
}

/** Undefined for no number. What follows a whole number, such as the dot of `1.`, is left to the caller. */
function afterNumber(bytes: Buffer, start: number): number | undefined {
  const first = bytes[start] === MINUS ? start + 1 : start
  const whole = bytes[first] === ZERO ? first + 1 : afterDigits(bytes, first)
  if (whole === first) return undefined
  const fraction = bytes[whole] === POINT ? afterDigits(bytes, whole + 1) : whole + 1
  const end = fraction > whole + 1 ? fraction : whole
  if (bytes[end] !== 0x65 && bytes[end] !== 0x45) return end
  const sign = bytes[end + 1]
  const digits = sign === PLUS || sign === MINUS ? end + 2 : end + 1
  const exponentEnd = afterDigits(bytes, digits)
  return exponentEnd > digits ? exponentEnd : end
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

/**
 * The state of JSON that arrives in pieces. `empty`: only white space so far. `incomplete`: more text can complete it.
 * `whole`: valid JSON. `broken`: no more text can make it valid. A number counts as whole as soon as it could end.
 */
export type JsonState = 'empty' | 'incomplete' | 'whole' | 'broken'

/** What the grammar allows between two tokens. */
type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' | 'nothing'

/** The states of a number, and the characters that lead from one to the next. */
type NumberState = 'minus' | 'zero' | 'integer' | 'point' | 'fraction' | 'e' | 'sign' | 'exponent'
type Step = readonly [characters: string, next: NumberState]

const DIGITS = '0123456789'
const TO_EXPONENT: Step = ['eE', 'e']
const NUMBER_STEPS: Readonly<Record<NumberState, readonly Step[]>> = {
  minus: [
    ['0', 'zero'],
    [DIGITS, 'integer'],
  ],
  zero: [['.', 'point'], TO_EXPONENT],
  integer: [[DIGITS, 'integer'], ['.', 'point'], TO_EXPONENT],
  point: [[DIGITS, 'fraction']],
  fraction: [[DIGITS, 'fraction'], TO_EXPONENT],
  e: [
    [DIGITS, 'exponent'],
    ['+-', 'sign'],
  ],
  sign: [[DIGITS, 'exponent']],
  exponent: [[DIGITS, 'exponent']],
}
const WHOLE_NUMBERS: readonly NumberState[] = ['zero', 'integer', 'fraction', 'exponent']
const IN_NUMBER = /[-+.\deE]/
const IN_LITERAL = /[a-z]/
const HEX = /[\da-fA-F]/
const ESCAPES = '"\\/bfnrtu'
const WHITESPACE = ' \t\n\r'

/** Checks JSON while it arrives, and keeps none of it but the current literal. */
export class JsonProgress {
  #expected: Expected = 'value'
  /** Open brackets, outermost first. */
  readonly #open: ('{' | '[')[] = []
  #token: 'key' | 'string' | 'number' | 'literal' | undefined
  #number: NumberState = 'minus'
  /** The literal so far. */
  #text = ''
  /** Characters that an escape still lacks: ANY_ESCAPE right after the backslash, then the digits of `\u`. */
  #escape = 0
  #isBroken = false

  feed(text: string): void {
    for (let at = 0; at < text.length && !this.#isBroken; at++) {
      const char = text[at]!
      if (this.#token === 'string' || this.#token === 'key') this.#feedString(char)
      else if (this.#token === undefined || !this.#goesOn(char)) this.#feedBetween(char)
    }
  }

  get state(): JsonState {
    if (this.#isBroken) return 'broken'
    if (this.#open.length > 0 || this.#token === 'string') return 'incomplete'
    if (this.#token === undefined) return this.#expected === 'nothing' ? 'whole' : 'empty'
    return this.#isTokenWhole() ? 'whole' : 'incomplete'
  }

  #feedString(char: string): void {
    if (this.#escape === ANY_ESCAPE) {
      this.#escape = char === 'u' ? 4 : 0
      this.#isBroken = !ESCAPES.includes(char)
    } else if (this.#escape > 0) {
      this.#escape -= 1
      this.#isBroken = !HEX.test(char)
    } else if (char === '\\') this.#escape = ANY_ESCAPE
    else if (char === '"') this.#endToken()
    else if (char < ' ') this.#isBroken = true
  }

  /** Whether the character continues the number or literal; if not, the token ends here. */
  #goesOn(char: string): boolean {
    if ((this.#token === 'number' ? IN_NUMBER : IN_LITERAL).test(char)) {
      if (this.#token === 'number') this.#feedNumber(char)
      else this.#feedLiteral(char)
      return true
    }
    if (this.#isTokenWhole()) this.#endToken()
    else this.#isBroken = true
    return this.#isBroken
  }

  #isTokenWhole(): boolean {
    return this.#token === 'number' ? WHOLE_NUMBERS.includes(this.#number) : LITERALS.includes(this.#text)
  }

  #feedNumber(char: string): void {
    const step = NUMBER_STEPS[this.#number].find(([characters]) => characters.includes(char))
    if (step === undefined) this.#isBroken = true
    else this.#number = step[1]
  }

  #feedLiteral(char: string): void {
    this.#text += char
    this.#isBroken = !LITERALS.some((literal) => literal.startsWith(this.#text))
  }

  #endToken(): void {
    this.#expected = this.#token === 'key' ? 'colon' : this.#afterValue()
    this.#token = undefined
    this.#text = ''
  }

  #afterValue(): Expected {
    return this.#open.length === 0 ? 'nothing' : 'comma-or-end'
  }

  #feedBetween(char: string): void {
    if (WHITESPACE.includes(char)) return
    const expected = this.#expected
    const wantsValue = expected === 'value' || expected === 'value-or-end'
    const wantsKey = expected === 'key' || expected === 'key-or-end'
    if (char === '"' && (wantsValue || wantsKey)) this.#token = wantsKey ? 'key' : 'string'
    else if (char === '{' && wantsValue) this.#begin('{', 'key-or-end')
    else if (char === '[' && wantsValue) this.#begin('[', 'value-or-end')
    else if (char === '}' && (expected === 'key-or-end' || expected === 'comma-or-end')) this.#end('{')
    else if (char === ']' && (expected === 'value-or-end' || expected === 'comma-or-end')) this.#end('[')
    else if (char === ':' && expected === 'colon') this.#expected = 'value'
    else if (char === ',' && expected === 'comma-or-end') this.#expected = this.#open.at(-1) === '{' ? 'key' : 'value'
    else if (wantsValue && (char === '-' || DIGITS.includes(char))) {
      this.#token = 'number'
      this.#number = 'minus'
      if (char !== '-') this.#feedNumber(char)
    } else if (wantsValue && IN_LITERAL.test(char)) {
      this.#token = 'literal'
      this.#feedLiteral(char)
    } else this.#isBroken = true
  }

  #begin(bracket: '{' | '[', expected: Expected): void {
    this.#open.push(bracket)
    this.#expected = expected
  }

  #end(bracket: '{' | '['): void {
    this.#isBroken = this.#open.pop() !== bracket
    this.#expected = this.#afterValue()
  }
}

/** Right after a backslash: any escape may follow. */
const ANY_ESCAPE = 5
