import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { createQueue, createTurnstile } from '../../lib/async.ts'
import { type AccountKey, openBytes, sealBytes } from './account-keys.ts'

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

interface PackedBody {
  readonly encoding: 'identity' | 'deflate'
  readonly bytes: Uint8Array
}

/** Less saves nothing that is worth a look. */
const WORTH_BYTES = 512
/** Less is packed and unpacked sooner than another thread can be asked to: a tenth of a millisecond at most. */
const ON_LOOP_BYTES_MAX = 8 * 1024
/** Quick, and text repeats itself enough for it. */
const LEVEL = 2
/** What saves less than a tenth is not worth unpacking each time. */
const PACKED_SHARE_MAX = 0.9

const deflate = promisify<Uint8Array, object, Buffer>(deflateRaw)
const inflate = promisify<Uint8Array, object, Buffer>(inflateRaw)

/** Compressed where that pays; on another thread than the loop's, unless it is short. */
export async function packBody(bytes: Uint8Array): Promise<PackedBody> {
  if (bytes.length < WORTH_BYTES) return { encoding: 'identity', bytes }
  const onLoop = bytes.length <= ON_LOOP_BYTES_MAX
  const packed = onLoop ? deflateRawSync(bytes, { level: LEVEL }) : await deflate(bytes, { level: LEVEL })
  return packed.length < bytes.length * PACKED_SHARE_MAX
    ? { encoding: 'deflate', bytes: packed }
    : { encoding: 'identity', bytes }
}

export async function unpackBody({ encoding, bytes }: PackedBody, rawBytes: number): Promise<Uint8Array> {
  if (encoding === 'identity') return bytes
  const bounds = { maxOutputLength: Math.max(1, rawBytes) }
  return rawBytes <= ON_LOOP_BYTES_MAX ? inflateRawSync(bytes, bounds) : inflate(bytes, bounds)
}

/** Digested without a pause: a millisecond or less, be it one item or many. */
const PAUSE_BYTES = 512 * 1024
/** An item costs as much as so many bytes, however short it is. */
const ITEM_COST_BYTES = 2048

/** What an id is looked up by: who reads the file finds none, and none of another account is ever hit. */
export const digestId = (key: AccountKey, kind: 'response' | 'item', id: string): string =>
  createHmac('sha256', key.idDigests).update(`${kind} ${id}`).digest('base64url')

/** The same item of the same account has the same digest; whether two accounts have said the same cannot be seen. */
export async function digestItems(key: AccountKey, items: readonly Buffer[]): Promise<string[]> {
  const digests: string[] = []
  let sincePause = 0
  for (const item of items) {
    const hmac = createHmac('sha256', key.itemDigests)
    for (let at = 0; at < item.length; at += PAUSE_BYTES) {
      const piece = item.subarray(at, at + PAUSE_BYTES)
      hmac.update(piece)
      sincePause += piece.length
      if (sincePause >= PAUSE_BYTES) {
        await passTurnstile()
        sincePause = 0
      }
    }
    sincePause += ITEM_COST_BYTES
    digests.push(hmac.digest('base64url'))
  }
  return digests
}
