import { isAscii, isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import * as zlib from 'node:zlib'
import { gatherBytes } from '../lib/bytes.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import { findJsonError } from '../protocols/json/find-json-error.ts'
import { parseInPieces } from '../protocols/json/in-pieces.ts'
import { scanInPieces } from '../protocols/json/scan-json.ts'
import type { ParsedBody } from '../protocols/shared/event-reader.ts'
import type { Slot } from './concurrency-limiter.ts'
import type { BodyBounds, Exchange } from './request-context.ts'

type ReadBodyOutcome = { readonly kind: 'read'; readonly body: ParsedBody } | Refused

/** Scanned without a pause: some ten milliseconds of the slowest text. */
const SCANNED_BYTES = 4 * 1024 * 1024

/**
 * The bytes as members and as a value. The structure is bounded, and room is taken for all of it, before JSON.parse builds
 * anything. Whoever asked gives the room back when nobody needs the value any more.
 */
export async function readBody(bytes: Buffer, bounds: BodyBounds, place: Pick<Slot, 'take'>): Promise<ReadBodyOutcome> {
  if (bytes.length === 0) return refused(problem('invalid_json', 'The body is empty. Send a JSON object.'))
  if (!isUtf8(bytes)) return refused(problem('invalid_json', 'The body is not valid UTF-8. Encode it as UTF-8.'))
  // A byte of space costs as much as a byte of a number, and a client chooses how many come.
  const scan = await scanInPieces(bytes, bounds, { pieceBytes: SCANNED_BYTES, pause: () => yieldToOthers(bytes) })
  switch (scan.kind) {
    case 'too-deep':
      return refused(problem('request_too_large', `The body is nested deeper than ${bounds.depthMax} levels.`))
    case 'too-many-values':
      return refused(
        problem(
          'request_too_large',
          `The body holds too many JSON values or fields; ${bounds.valuesMax} values are allowed.`,
        ),
      )
    case 'not-an-object':
      return refused(problem('invalid_json', 'The body is not a JSON object: it must begin with {.'))
    case 'broken':
      return refused(invalidJson(bytes))
  }
  const full = place.take(scan.valueBytes + TEXTS * textBytes(bytes))
  if (full) return refused(full)
  await yieldToOthers(bytes)
  // The scan has seen that it begins as an object, so it is one or no JSON at all.
  const value = (await parseInPieces(bytes, scan.large)) as ParsedBody['value'] | undefined
  if (value !== undefined) return { kind: 'read', body: { bytes, members: scan.members, value } }
  await yieldToOthers(bytes)
  return refused(invalidJson(bytes))
}

/** While a body is parsed there are two texts of it: the whole one, and the strings of the value. */
const TEXTS = 2

/** How much of the heap a text of these bytes takes: V8 has one byte or two for each character, for all of them alike. */
const textBytes = (bytes: Buffer): number => (isAscii(bytes) ? bytes.length : 2 * bytes.length)

/** Looking for a mistake costs time, and nobody counts lines in a body this large: behind it, its place is not said. */
const LOCATED_BYTES_MAX = 1024 * 1024

/** What is wrong with a body that is not JSON, and where. */
function invalidJson(bytes: Buffer): Problem {
  const searched = bytes.subarray(0, LOCATED_BYTES_MAX)
  const error = findJsonError(searched)
  const isCutShort = searched.length < bytes.length && (error === undefined || error.offset >= searched.length - 8)
  if (isCutShort) {
    return problem(
      'invalid_json',
      `The body is not valid JSON; the mistake is behind its first ${LOCATED_BYTES_MAX} bytes.`,
    )
  }
  const { offset, expected } = error ?? { offset: bytes.length, expected: 'valid JSON' }
  const { line, column } = placeOf(bytes, offset)
  const found = offset >= bytes.length ? 'the body ends' : `found ${describeByte(bytes[offset]!)}`
  return problem(
    'invalid_json',
    `The body is not valid JSON: at line ${line}, column ${column} ${found}, expected ${expected}.`,
  )
}

function placeOf(bytes: Buffer, offset: number): { line: number; column: number } {
  let line = 1
  let lineStart = 0
  for (let at = 0; at < offset; at++) {
    if (bytes[at] !== 0x0a) continue
    line += 1
    lineStart = at + 1
  }
  return { line, column: bytes.toString('utf8', lineStart, offset).length + 1 }
}

const describeByte = (byte: number): string =>
  byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `the byte 0x${byte.toString(16).padStart(2, '0')}`

export type ReceivedBody =
  /** Its bytes are let go of when they have been read. */
  | { readonly kind: 'received'; bytes: Buffer }
  | Refused
  /** The client went before its body was complete: there is nobody to answer. */
  | { readonly kind: 'gone' }

/** The body as bytes, or the problem with it; what the head gives away is refused first. */
export async function receiveBody(exchange: Exchange, place: Slot): Promise<ReceivedBody> {
  const { request, connection, edge } = exchange
  const { bytesMax } = edge.options.body
  const coding = readContentCoding(request.headers)
  const wrongType = refuseContentType(request.headers['content-type'])
  if (wrongType) return refused(wrongType)
  if (coding.kind === 'refused') return coding
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return refused(tooLarge(bytesMax))
  if (request.destroyed) return { kind: 'gone' }
  if (connection.failure && !request.complete) return refused(connection.failure)

  requestBody(exchange)
  const collected = await collectBody(exchange, place, coding.kind === 'coded' ? coding.createDecoder() : undefined)
  if (collected.kind !== 'collected') return collected
  await yieldToOthers(collected.bytes)
  return { kind: 'received', bytes: collected.bytes }
}

/** Bodies are JSON in UTF-8 and say so; other parameters are allowed and mean nothing. */
function refuseContentType(header: string | undefined): Problem | undefined {
  if (header === undefined || header.trim() === '') {
    return problem(
      'unsupported_media_type',
      'The Content-Type header is missing. Send "Content-Type: application/json".',
    )
  }
  if (header === 'application/json') return undefined
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  if (type !== 'application/json') {
    return problem(
      'unsupported_media_type',
      `The Content-Type '${shown(header)}' is not supported. Send "application/json".`,
    )
  }
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (charset === undefined || /^"?utf-?8"?$/.test(charset)) return undefined
  return problem(
    'unsupported_media_type',
    `The charset of '${shown(header)}' is not supported. Send the body as UTF-8.`,
  )
}

const shown = (header: string): string => header.slice(0, 80)

/** Small outputs, so that a bomb is noticed after little of it has been inflated. */
const CHUNK_SIZE = 16 * 1024

/** zstd came to Node with 22.15; the types of the oldest supported version do not know it. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: (options: { chunkSize: number }) => Transform }

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => zlib.createGunzip({ chunkSize: CHUNK_SIZE })],
  ['x-gzip', () => zlib.createGunzip({ chunkSize: CHUNK_SIZE })],
  ['deflate', () => zlib.createInflate({ chunkSize: CHUNK_SIZE })],
  ['br', () => zlib.createBrotliDecompress({ chunkSize: CHUNK_SIZE })],
  ...(createZstdDecompress ? [['zstd', () => createZstdDecompress({ chunkSize: CHUNK_SIZE })] as const] : []),
])

type ContentCoding = { readonly kind: 'plain' } | { readonly kind: 'coded'; createDecoder(): Transform } | Refused

/** One coding at most: stacked ones multiply their expansion, and no client sends them. */
function readContentCoding(headers: IncomingHttpHeaders): ContentCoding {
  const name = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return { kind: 'plain' }
  const createDecoder = DECODERS.get(name)
  if (createDecoder) return { kind: 'coded', createDecoder }
  const known = [...DECODERS.keys()].filter((coding) => coding !== 'x-gzip').join(', ')
  const message = `The Content-Encoding '${name.slice(0, 40)}' is not supported here. Send one of ${known}, or none.`
  return refused(problem('unsupported_media_type', message, { headers: { 'accept-encoding': known } }))
}

type CollectOutcome =
  | { readonly kind: 'collected'; readonly bytes: Buffer }
  | Refused
  /** The client closed the connection before its body was complete. */
  | { readonly kind: 'gone' }

/** Text that repeats itself compresses well in honest hands too; so little does no harm however it was made. */
const UNSUSPICIOUS_BYTES = 1024 * 1024

/**
 * Reads a body to its end, decompressed if need be, and stops at the first bound that it breaks. Room is taken for what has
 * come, never for what a Content-Length promises.
 */
function collectBody(exchange: Exchange, place: Slot, decoder: Transform | undefined): Promise<CollectOutcome> {
  const { request, body, edge } = exchange
  const { bytesMax } = edge.options.body
  /** The bytes that count: those that come out of the decoder, where there is one. */
  const gathered = gatherBytes()

  return new Promise((resolve) => {
    const settle = (outcome: CollectOutcome) => {
      stopReading()
      stopDecoding?.()
      body.fail = undefined
      resolve(outcome)
    }
    const refuse = (refusal: Problem) => settle(refused(refusal))
    const keep = (chunk: Buffer) => {
      gathered.add(chunk)
      const refusal = refuseSize(gathered.length, body.bytesRead, edge.options.body) ?? place.take(chunk.length)
      if (refusal) refuse(refusal)
    }
    const whole = () => settle({ kind: 'collected', bytes: gathered.whole() })
    const onRaw = (chunk: Buffer) => {
      body.bytesRead += chunk.length
      if (body.bytesRead > bytesMax) refuse(tooLarge(bytesMax))
      else if (!decoder) keep(chunk)
      else if (!decoder.write(chunk)) request.pause()
    }

    const stopDecoding = decoder && listenToDecoder(decoder, { keep, whole, refuse, onDrain: () => request.resume() })
    const stopReading = listenToRequest(request, {
      onRaw,
      onEnd: () => (decoder ? decoder.end() : whole()),
      onDisconnect: () => settle({ kind: 'gone' }),
    })
    body.fail = refuse
  })
}

interface DecoderListeners {
  keep(chunk: Buffer): void
  whole(): void
  refuse(refusal: Problem): void
  onDrain(): void
}

function listenToDecoder(decoder: Transform, { keep, whole, refuse, onDrain }: DecoderListeners): () => void {
  const onError = () =>
    refuse(problem('invalid_json', 'The body could not be decompressed. Check its Content-Encoding.'))
  decoder.on('data', keep).on('drain', onDrain).on('end', whole).on('error', onError)
  // The listener for errors stays: one that comes late is nobody's concern, but must not be thrown.
  return () => decoder.off('data', keep).off('drain', onDrain).off('end', whole).destroy()
}

interface RequestListeners {
  onRaw(chunk: Buffer): void
  onEnd(): void
  onDisconnect(): void
}

function listenToRequest(request: IncomingMessage, { onRaw, onEnd, onDisconnect }: RequestListeners): () => void {
  const onClose = () => {
    if (!request.complete) onDisconnect()
  }
  request.on('data', onRaw).on('end', onEnd).on('close', onClose)
  return () => request.off('data', onRaw).off('end', onEnd).off('close', onClose).pause()
}

const tooLarge = (bytesMax: number): Problem =>
  problem('request_too_large', `The body is larger than ${bytesMax} bytes. Send a smaller request.`)

function refuseSize(bytes: number, rawBytes: number, bounds: BodyBounds): Problem | undefined {
  if (bytes > bounds.bytesMax) return tooLarge(bounds.bytesMax)
  if (bytes <= UNSUSPICIOUS_BYTES || bytes <= rawBytes * bounds.expansionRatioMax) return undefined
  return problem(
    'request_too_large',
    `The body expands to more than ${bounds.expansionRatioMax} times its compressed size. Send it uncompressed.`,
  )
}

/** Whoever has sent a head only, and waits to be asked for the rest, is asked for it. */
export function requestBody(exchange: Exchange): void {
  if (exchange.expectation !== 'continue') return
  exchange.response.writeContinue()
  exchange.expectation = 'none'
}

/** From here on the steps of reading a body take turns with everybody else's work. */
const LARGE_BYTES = 1024 * 1024

export async function yieldToOthers(bytes: Buffer): Promise<void> {
  if (bytes.length > LARGE_BYTES) await afterOneTurn()
}

/** The first setImmediate runs before the loop looks at sockets again, the second after. */
async function afterOneTurn(): Promise<void> {
  await immediate()
  await immediate()
}

/**
 * Where the event loop is late, a request may have lain in its socket for longer than its client waits. That it has gone is read
 * one turn of the loop after its request was: to begin before that would be work for nobody, when there is least time for it.
 */
export async function disconnectedMeanwhile({ request: { socket }, edge }: Exchange): Promise<boolean> {
  if (!edge.isLate()) return false
  await afterOneTurn()
  return socket.readableEnded || socket.destroyed
}
