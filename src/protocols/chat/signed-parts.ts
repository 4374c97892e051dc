import { type Fields, isObject } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import { tryParse } from '../json/bytes.ts'

/** What a server has signed for itself and wants back, which clients of other protocols have no field for. */
export interface SignedParts {
  /** Of a call, by the id that the client knows: the thought signature of Gemini's Chat endpoint. */
  readonly call?: string
  readonly extra?: Fields
  /** Of the message: OpenRouter's signed and encrypted reasoning. */
  readonly details?: readonly Fields[]
}

/** Sealed reasoning of other Chat servers is the reasoning as it was, and no text begins like this. */
const MARK = '\0'

export const writeSignedParts = (parts: SignedParts): string => MARK + JSON.stringify(parts)

/** Undefined for sealed reasoning of any other kind. */
export function readSignedParts({ wire, data }: Opaque): SignedParts | undefined {
  if (wire !== 'chat' || !data.startsWith(MARK)) return undefined
  const parts = tryParse(data.slice(MARK.length))
  return isObject(parts) ? parts : {}
}

/** More is no signature: it goes to the client and comes back with each request. */
const SIGNED_BYTES_MAX = 1024 * 1024

/** Bounds what all calls of an answer may carry. */
export class ExtraReader {
  #room = SIGNED_BYTES_MAX

  read({ extra_content: extra }: Fields): Fields | undefined {
    if (!isObject(extra)) return undefined
    this.#room -= Buffer.byteLength(JSON.stringify(extra))
    return this.#room >= 0 ? extra : undefined
  }
}

/** Puts the pieces of `reasoning_details` together, as far as they are signed. */
export class DetailsReader {
  #details: Fields[] = []
  /** Those that may go on, by type and index: nothing is added to one that is signed. */
  readonly #open = new Map<string, Fields>()
  #isSigned = false
  #room = SIGNED_BYTES_MAX

  add(pieces: readonly unknown[]): void {
    for (const piece of pieces.filter(isObject)) {
      this.#room -= Buffer.byteLength(JSON.stringify(piece))
      if (this.#room < 0) return
      const key = `${String(piece.type)} ${String(piece.index)}`
      const open = isText(piece.data) ? undefined : this.#open.get(key)
      const detail = open ?? { ...piece }
      if (open === undefined) this.#details.push(detail)
      else for (const [name, value] of Object.entries(piece)) detail[name] = joined(name, detail[name], value)
      const isSigned = isText(detail.signature) || isText(detail.data)
      this.#isSigned ||= isSigned
      if (isSigned) this.#open.delete(key)
      else this.#open.set(key, detail)
    }
  }

  /** All up to the last one that is signed; undefined where nothing has to go back, or they are not whole. */
  take(): readonly Fields[] | undefined {
    if (!this.#isSigned || this.#room < 0) return undefined
    const details = this.#details
    this.#details = []
    this.#open.clear()
    this.#isSigned = false
    return details
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const JOINED = new Set(['text', 'summary'])

function joined(name: string, before: unknown, piece: unknown): unknown {
  if (JOINED.has(name) && typeof before === 'string' && typeof piece === 'string') return before + piece
  return piece ?? before
}
