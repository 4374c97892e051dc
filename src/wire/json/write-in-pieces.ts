import { PIECE_BYTES, passTurnstile } from './piece-turns.ts'

/** Characters, and values, that are written without a pause. */
const PIECE_CHARACTERS = PIECE_BYTES / 2
const PIECE_VALUES = 20_000

/**
 * What JSON.stringify makes of a value, as bytes, with a pause after each piece of a large one, in which other work is done.
 * `about` is how many bytes it is likely to take: it may be wrong.
 */
export async function writeInPieces(value: unknown, about: number): Promise<Buffer> {
  if (about <= PIECE_BYTES) return Buffer.from(JSON.stringify(value))
  await passTurnstile()
  const writer = new PieceWriter()
  await writer.write(value)
  return writer.end()
}

/** A container that is being written: what is left of its members. */
interface OpenContainer {
  readonly entries: Iterator<readonly [name: string | undefined, value: unknown]>
  readonly closer: string
  isEmpty: boolean
}

class PieceWriter {
  readonly #pieces: Buffer[] = []
  #text = ''
  #values = 0

  async write(value: unknown): Promise<void> {
    const open: OpenContainer[] = []
    await this.#begin(value, open)
    for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
      const next = inner.entries.next()
      if (next.done) {
        this.#text += inner.closer
        open.pop()
        continue
      }
      const [name, member] = next.value
      // As JSON.stringify: what has no value is left out of an object, and null in an array.
      if (name !== undefined && member === undefined) continue
      this.#text += `${inner.isEmpty ? '' : ','}${name === undefined ? '' : `${JSON.stringify(name)}:`}`
      inner.isEmpty = false
      const paused = this.#begin(member ?? null, open)
      if (paused !== undefined) await paused
    }
  }

  end(): Buffer {
    this.#flush()
    return Buffer.concat(this.#pieces)
  }

  #begin(value: unknown, open: OpenContainer[]): Promise<void> | undefined {
    if (typeof value === 'string' && value.length > PIECE_CHARACTERS) return this.#writeString(value)
    if (Array.isArray(value)) {
      this.#text += '['
      open.push({ entries: elementsOf(value), closer: ']', isEmpty: true })
    } else if (typeof value === 'object' && value !== null) {
      this.#text += '{'
      open.push({ entries: Object.entries(value)[Symbol.iterator](), closer: '}', isEmpty: true })
    } else this.#text += JSON.stringify(value)
    this.#values += 1
    return this.#text.length > PIECE_CHARACTERS || this.#values > PIECE_VALUES ? this.#pause() : undefined
  }

  async #writeString(value: string): Promise<void> {
    this.#text += '"'
    for (let at = 0; at < value.length; ) {
      let cut = Math.min(at + PIECE_CHARACTERS, value.length)
      // The two halves of a character stay together.
      if (cut < value.length && isFirstHalf(value.charCodeAt(cut - 1))) cut -= 1
      this.#text += JSON.stringify(value.slice(at, cut)).slice(1, -1)
      at = cut
      await this.#pause()
    }
    this.#text += '"'
  }

  #pause(): Promise<void> {
    this.#flush()
    return passTurnstile()
  }

  #flush(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text))
    this.#text = ''
    this.#values = 0
  }
}

function* elementsOf(list: readonly unknown[]): Generator<readonly [undefined, unknown]> {
  for (const element of list) yield [undefined, element]
}

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
