/**
 * The state of JSON that arrives in pieces. `empty`: only white space so far. `cut`: incomplete, but more text can complete it.
 * `whole`: valid JSON. `broken`: no more text can make it valid. A number counts as whole as soon as it could end.
 */
export type JsonState = 'empty' | 'cut' | 'whole' | 'broken'

/** What the grammar allows next, between two tokens. */
type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' | 'nothing'

/** How far a number has come, and what each of its characters makes of that. */
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
const IN_WORD = /[a-z]/
const WORDS = ['true', 'false', 'null']
const HEX = /[\da-fA-F]/
const ESCAPES = '"\\/bfnrtu'
const WHITESPACE = ' \t\n\r'

/** Checks JSON while it arrives, and keeps none of it but the word that it is in. */
export class JsonProgress {
  #expected: Expected = 'value'
  /** Open brackets, outermost first. */
  readonly #open: ('{' | '[')[] = []
  #token: 'key' | 'string' | 'number' | 'word' | undefined
  #number: NumberState = 'minus'
  /** The word so far. */
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
    if (this.#open.length > 0 || this.#token === 'string') return 'cut'
    if (this.#token === undefined) return this.#expected === 'nothing' ? 'whole' : 'empty'
    return this.#isTokenWhole() ? 'whole' : 'cut'
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
    if ((this.#token === 'number' ? IN_NUMBER : IN_WORD).test(char)) {
      if (this.#token === 'number') this.#feedNumber(char)
      else this.#feedWord(char)
      return true
    }
    if (this.#isTokenWhole()) this.#endToken()
    else this.#isBroken = true
    return this.#isBroken
  }

  #isTokenWhole(): boolean {
    return this.#token === 'number' ? WHOLE_NUMBERS.includes(this.#number) : WORDS.includes(this.#text)
  }

  #feedNumber(char: string): void {
    const step = NUMBER_STEPS[this.#number].find(([characters]) => characters.includes(char))
    if (step === undefined) this.#isBroken = true
    else this.#number = step[1]
  }

  #feedWord(char: string): void {
    this.#text += char
    this.#isBroken = !WORDS.some((word) => word.startsWith(this.#text))
  }

  #endToken(): void {
    if (this.#token === 'key') this.#expected = 'colon'
    else this.#endValue()
    this.#token = undefined
    this.#text = ''
  }

  #endValue(): void {
    this.#expected = this.#open.length === 0 ? 'nothing' : 'comma-or-end'
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
    else if (wantsValue && (char === '-' || DIGITS.includes(char))) this.#beginNumber(char)
    else if (wantsValue && IN_WORD.test(char)) this.#beginWord(char)
    else this.#isBroken = true
  }

  #begin(bracket: '{' | '[', expected: Expected): void {
    this.#open.push(bracket)
    this.#expected = expected
  }

  #end(bracket: '{' | '['): void {
    this.#isBroken = this.#open.pop() !== bracket
    this.#endValue()
  }

  #beginNumber(char: string): void {
    this.#token = 'number'
    this.#number = 'minus'
    if (char !== '-') this.#feedNumber(char)
  }

  #beginWord(char: string): void {
    this.#token = 'word'
    this.#feedWord(char)
  }
}

/** Right after a backslash: any escape may follow. */
const ANY_ESCAPE = 5
