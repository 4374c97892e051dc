import { createQueue, createTurnstile } from '../lib/take-turns.ts'
import type { AccountKey } from './account-keys.ts'
import { packBody, unpackBody } from './pack-body.ts'
import { openBytes, sealBytes } from './seal-bytes.ts'

/** Something of an account as it lies in the file. */
export interface SealedPart {
  readonly encoding: 'identity' | 'deflate'
  readonly raw_bytes: number
  readonly sealed: Uint8Array
}

/** What is done on the loop's thread is done so many times without a pause: about a millisecond. */
const PARTS_IN_A_ROW = 64
/** Packing takes other threads than the loop's, and their processors: the ledger's thread needs one too. */
const SEALED_AT_ONCE = 2
/** Whoever asks for what is stored pays nothing for it: what is being stored must not wait behind it. */
const OPENED_AT_ONCE = 1

const passTurnstile = createTurnstile()
const sealing = createQueue(SEALED_AT_ONCE)
const opening = createQueue(OPENED_AT_ONCE)

export async function sealPart(key: AccountKey, name: string, bytes: Buffer): Promise<SealedPart> {
  const packed = await packBody(bytes)
  const sealed = await sealBytes(key.sealing, fullName(key, name), packed.bytes)
  return { encoding: packed.encoding, raw_bytes: bytes.length, sealed }
}

/** Undefined when it was sealed under another name or by another key, or is damaged. */
export async function openPart(key: AccountKey, name: string, part: SealedPart): Promise<Buffer | undefined> {
  const bytes = await openBytes(key.sealing, fullName(key, name), part.sealed)
  if (bytes === undefined) return undefined
  try {
    const { encoding } = part
    const raw = await unpackBody({ encoding, bytes }, part.raw_bytes)
    return raw.length === part.raw_bytes ? Buffer.from(raw.buffer, raw.byteOffset, raw.length) : undefined
  } catch {
    return undefined
  }
}

type Work<Part, Result> = (part: Part) => Promise<Result>

/** Seals one after the other, with room for others between them. */
export const sealInSlices = <Part, Result>(parts: readonly Part[], work: Work<Part, Result>): Promise<Result[]> =>
  sealing(() => inSlices(parts, work))

/** The same for what is opened. */
export const openInSlices = <Part, Result>(parts: readonly Part[], work: Work<Part, Result>): Promise<Result[]> =>
  opening(() => inSlices(parts, work))

async function inSlices<Part, Result>(parts: readonly Part[], work: Work<Part, Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const part of parts) {
    if (results.length % PARTS_IN_A_ROW === PARTS_IN_A_ROW - 1) await passTurnstile()
    results.push(await work(part))
  }
  return results
}

const fullName = (key: AccountKey, name: string): string => `${key.sealedAs} ${name}`

export const itemName = (digest: string): string => `item ${digest}`
export const objectName = (response: string): string => `response ${response}`
export const segmentName = (response: string, from: number, to: number): string => `events ${response} ${from} ${to}`
