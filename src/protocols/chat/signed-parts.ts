import { type Fields, isObject } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import { tryParse } from '../json/bytes.ts'

/** What a server has signed for itself and wants back, which clients of other protocols have no field for. */
export interface SignedParts {
  /** Of the call that follows: the thought signature of Gemini's Chat endpoint. */
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
  #isSigned = false
  #room = SIGNED_BYTES_MAX

  add(pieces: readonly unknown[]): void {
    for (const piece of pieces.filter(isObject)) {
      this.#room -= Buffer.byteLength(JSON.stringify(piece))
      if (this.#room < 0) return
      this.#isSigned ||= isText(piece.signature) || isText(piece.data)
      const begun = isText(piece.data) ? undefined : this.#details.find((other) => isSamePart(other, piece))
      if (begun === undefined) this.#details.push({ ...piece })
      else for (const [name, value] of Object.entries(piece)) begun[name] = joined(name, begun[name], value)
    }
  }

  /** Those since the last call of it; undefined where nothing has to go back, or they are not whole. */
  take(): readonly Fields[] | undefined {
    const details = this.#isSigned && this.#room >= 0 ? this.#details : undefined
    this.#details = []
    this.#isSigned = false
    return details
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const isSamePart = (one: Fields, other: Fields): boolean =>
  one.type === other.type && one.index === other.index && !isText(one.data)

const JOINED = new Set(['text', 'summary'])

function joined(name: string, before: unknown, piece: unknown): unknown {
  if (JOINED.has(name) && typeof before === 'string' && typeof piece === 'string') return before + piece
  return piece ?? before
}

/** Gemini's details name the call that they belong to by its id, which the client knows by another. */
export function withCallIds(details: readonly Fields[], callIds: readonly string[]): Fields[] {
  let named = 0
  return details.map((detail) => {
    const isOfCall = isText(detail.format) && detail.format.startsWith('google-gemini') && isText(detail.id)
    const id = isOfCall ? callIds[named++] : undefined
    return id === undefined ? { ...detail } : { ...detail, id }
  })
}
