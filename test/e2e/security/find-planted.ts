/** The spellings under which a secret may stand in a text or a file. */
export type Spelling = 'plain' | 'lower case' | 'upper case' | 'base64' | 'hex' | 'percent-encoded' | 'reversed'

interface Needle {
  readonly secret: string
  readonly spelling: Spelling
  readonly text: string
}

/** The letters of base64 that do not depend on what stands beside the secret, at each offset in a group of three bytes. */
const inBase64 = (bytes: Buffer): string[] =>
  [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    const letters = padded.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
    return [letters, letters.replaceAll('+', '-').replaceAll('/', '_')]
  })

/** Every character, as no library would escape more. */
const escaped = (text: string): string => text.replace(/[^\w.~-]/g, (each) => `%${each.charCodeAt(0).toString(16)}`)

function needlesOf(secret: string, value: string | Buffer): Needle[] {
  const bytes = Buffer.from(value as string)
  const plain = bytes.toString('latin1')
  const spellings: readonly (readonly [Spelling, string])[] = [
    ['plain', plain],
    ['lower case', plain.toLowerCase()],
    ['upper case', plain.toUpperCase()],
    ...inBase64(bytes).map((text) => ['base64', text] as const),
    ['hex', bytes.toString('hex')],
    ['hex', bytes.toString('hex').toUpperCase()],
    ['percent-encoded', encodeURIComponent(plain)],
    ['percent-encoded', escaped(plain)],
    ['reversed', [...plain].reverse().join('')],
  ]
  return spellings.map(([spelling, text]) => ({ secret, spelling, text }))
}

/** Secrets that were planted, by name. */
export class Planted {
  readonly #needles: Needle[] = []
  readonly names: string[] = []
  looked = 0
  bytes = 0

  add(name: string, value: string | Buffer): void {
    if (value.length < 8) throw new Error(`${name} is too short to be recognised`)
    this.names.push(name)
    this.#needles.push(...needlesOf(name, value))
  }

  /** Which secrets stand in the text, of which latin1 is one character for each byte of a file. */
  foundIn(text: string, expected: readonly string[] = []): string[] {
    this.looked += 1
    this.bytes += text.length
    const found = this.#needles.filter(({ secret, text: part }) => !expected.includes(secret) && text.includes(part))
    return [...new Set(found.map(({ secret, spelling }) => `${secret} (${spelling})`))]
  }

  get spellings(): number {
    return this.#needles.length
  }
}
