import { isAscii, isUtf8 } from 'node:buffer'
import type { Transform } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import * as zlib from 'node:zlib'
import { gatherBytes } from '../lib/bytes.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import { tryParse } from '../protocols/json/bytes.ts'
import { parseInPieces } from '../protocols/json/in-pieces.ts'
import { PIECE_BYTES, scanInPieces } from '../protocols/json/scan-json.ts'
import { findJsonError } from '../protocols/json/syntax.ts'
import type { ParsedBody } from '../protocols/shared/codec-types.ts'
import type { Slot } from './concurrency-limiter.ts'
import type { RequestContext } from './request-context.ts'
import type { BodyBounds } from './services.ts'

type ParseBodyOutcome = { readonly kind: 'read'; readonly body: ParsedBody } | Refused

/** Scanned without a pause: about ten milliseconds for the slowest text. */
const SCANNED_BYTES = 2 * 1024 * 1024

/**
 * Parses a body into its members and a value. The structure is bounded, and its memory is taken from the slot, before JSON.parse
 * builds anything. The caller gives the memory back when the value is no longer needed. `withoutTexts`: long texts of messages,
 * which are most of a body, become short ones in the value: they are only checked.
 */
export async function parseBody(
  bytes: Buffer,
  bounds: BodyBounds,
  slot: Pick<Slot, 'take'>,
  { withoutTexts }: { readonly withoutTexts: boolean },
): Promise<ParseBodyOutcome> {
  if (bytes.length === 0) return refused(problem('invalid_json', 'The body is empty. Send a JSON object.'))
  if (!isUtf8(bytes)) return refused(problem('invalid_json', 'The body is not valid UTF-8. Encode it as UTF-8.'))
  // A byte of white space costs as much to scan as a byte of a number, and the client chooses how many it sends.
  const scan = await scanInPieces(bytes, bounds, {
    pieceBytes: SCANNED_BYTES,
    pause: yieldToEventLoop,
    findsTexts: withoutTexts,
  })
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
  // V8 stores a text with one byte a character, or with two when one of them is not ASCII.
  const shortBytes = bytes.length - scan.textBytes
  const isSmall = shortBytes <= PIECE_BYTES
  const parsedBytes = isSmall ? shortBytes : bytes.length
  const stringBytes = isAscii(bytes) ? parsedBytes : 2 * parsedBytes
  const full = slot.take(scan.valueBytes + TEXTS * stringBytes)
  if (full) return refused(full)
  if (bytes.length > LARGE_BYTES) await yieldToEventLoop()
  // The scan has checked that it begins as an object, so it is an object or not JSON.
  const parsed = isSmall ? tryParse(shortenTexts(bytes, scan.texts)) : await parseInPieces(bytes, scan.large)
  const value = parsed as ParsedBody['value'] | undefined
  const { members, hasCacheMarks } = scan
  if (value !== undefined) return { kind: 'read', body: { bytes, members, hasCacheMarks, value } }
  if (bytes.length > LARGE_BYTES) await yieldToEventLoop()
  return refused(invalidJson(bytes))
}

/** `places` are starts and ends. */
function shortenTexts(bytes: Buffer, places: readonly number[]): string {
  let short = ''
  let from = 0
  for (let at = 0; at < places.length; at += 2) {
    // Not empty, as what it stands for.
    short += `${bytes.toString('utf8', from, places[at])}"text"`
    from = places[at + 1]!
  }
  return short + bytes.toString('utf8', from)
}

/** While a body is parsed there are two texts: the whole one, and the strings of the value. */
const TEXTS = 2

/** Locating a mistake costs time, and a line number does not help in a larger body. */
const LOCATED_BYTES_MAX = 1024 * 1024

/** What is wrong with a body that is not JSON, and where. */
function invalidJson(bytes: Buffer): Problem {
  const searched = bytes.subarray(0, LOCATED_BYTES_MAX)
  const error = findJsonError(searched)
  const isTruncated = searched.length < bytes.length && (error === undefined || error.offset >= searched.length - 8)
  if (isTruncated) {
    return problem(
      'invalid_json',
      `The body is not valid JSON; the mistake is after its first ${LOCATED_BYTES_MAX} bytes.`,
    )
  }
  const { offset, expected } = error ?? { offset: bytes.length, expected: 'valid JSON' }
  const { line, column } = positionOf(bytes, offset)
  const found = offset >= bytes.length ? 'the body ends' : `found ${describeByte(bytes[offset]!)}`
  return problem(
    'invalid_json',
    `The body is not valid JSON: at line ${line}, column ${column} ${found}, expected ${expected}.`,
  )
}

function positionOf(bytes: Buffer, offset: number): { line: number; column: number } {
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
  /** The bytes are released when they have been parsed. */
  { readonly kind: 'received'; bytes: Buffer } | Refused | { readonly kind: 'disconnected' }

/** Receives the body as bytes. What the head gives away is refused first. */
export function readBody(context: RequestContext, slot: Slot, account: number): ReceivedBody | Promise<ReceivedBody> {
  const { request, connection, edge } = context
  const { headers } = request
  const { bytesMax } = edge.options.body
  const type = headers['content-type']
  const wrongType = type === 'application/json' ? undefined : refuseContentType(type)
  if (wrongType) return refused(wrongType)
  const coding = headers['content-encoding'] === undefined ? PLAIN : readContentCoding(headers['content-encoding'])
  if (coding.kind === 'refused') return coding
  if (Number(headers['content-length'] ?? 0) > bytesMax) return refused(tooLarge(bytesMax))
  if (request.destroyed) return { kind: 'disconnected' }
  if (connection.failure && !request.complete) return refused(connection.failure)
  if (context.expectation === 'continue') requestBody(context)
  if (coding.kind === 'coded') return collectBody(context, slot, account, coding.createDecoder())
  // A small body has usually come with its head, although Node may not have reported its end yet.
  const size = request.readableLength
  const isWhole = request.complete || size === Number(headers['content-length'])
  if (!isWhole || size === 0 || size > bytesMax) return collectBody(context, slot, account, undefined)
  context.bodyBytesRead = size
  const full = slot.take(size)
  if (full) return refused(full)
  const bytes = request.read() as Buffer
  request.resume()
  return { kind: 'received', bytes }
}

/** Bodies are JSON in UTF-8. Other parameters are allowed and ignored. */
function refuseContentType(header: string | undefined): Problem | undefined {
  if (header === undefined || header.trim() === '') {
    return problem(
      'unsupported_media_type',
      'The Content-Type header is missing. Send "Content-Type: application/json".',
    )
  }
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

/** Small outputs, so that a decompression bomb is noticed early. */
const CHUNK_SIZE = 16 * 1024

/** Node has zstd from 22.15; the types of the oldest supported version do not know it. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: (options: { chunkSize: number }) => Transform }

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => zlib.createGunzip({ chunkSize: CHUNK_SIZE })],
  ['x-gzip', () => zlib.createGunzip({ chunkSize: CHUNK_SIZE })],
  ['deflate', () => zlib.createInflate({ chunkSize: CHUNK_SIZE })],
  ['br', () => zlib.createBrotliDecompress({ chunkSize: CHUNK_SIZE })],
  ...(createZstdDecompress ? [['zstd', () => createZstdDecompress({ chunkSize: CHUNK_SIZE })] as const] : []),
])

type ContentCoding = { readonly kind: 'plain' } | { readonly kind: 'coded'; createDecoder(): Transform } | Refused
const PLAIN: ContentCoding = { kind: 'plain' }

/** At most one coding: stacked ones multiply their expansion, and no client sends them. */
function readContentCoding(header: string): ContentCoding {
  const name = header.trim().toLowerCase()
  if (name === '' || name === 'identity') return PLAIN
  const createDecoder = DECODERS.get(name)
  if (createDecoder) return { kind: 'coded', createDecoder }
  const known = [...DECODERS.keys()].filter((coding) => coding !== 'x-gzip').join(', ')
  const message = `The Content-Encoding '${name.slice(0, 40)}' is not supported here. Send one of ${known}, or none.`
  return refused(problem('unsupported_media_type', message, { headers: { 'accept-encoding': known } }))
}

/** Repetitive text compresses well without bad intent. A body of this size does no harm. */
const UNSUSPICIOUS_BYTES = 1024 * 1024

/**
 * Reads a body to its end, decompressed, and stops at the first bound that it breaks. Memory is taken for what has arrived, not for
 * what a Content-Length promises.
 */
function collectBody(
  context: RequestContext,
  slot: Slot,
  account: number,
  decoder: Transform | undefined,
): ReceivedBody | Promise<ReceivedBody> {
  const full = slot.beginBody(account)
  if (full) return refused(full)
  const { request } = context
  const bounds = context.edge.options.body
  /** The bytes that count: those that leave the decoder, if there is one. */
  const gathered = gatherBytes()

  return new Promise((resolve) => {
    const settle = (outcome: ReceivedBody) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      // The listener for errors stays, because a late error must not be thrown.
      decoder?.off('data', keep).off('drain', onDrain).off('end', onDecoded).destroy()
      context.failBody = undefined
      slot.endBody()
      resolve(outcome)
    }
    const refuse = (refusal: Problem) => settle(refused(refusal))
    const keep = (chunk: Buffer) => {
      gathered.add(chunk)
      const refusal = refuseSize(gathered.length, context.bodyBytesRead, bounds) ?? slot.take(chunk.length)
      if (refusal) refuse(refusal)
    }
    const onData = (chunk: Buffer) => {
      context.bodyBytesRead += chunk.length
      if (context.bodyBytesRead > bounds.bytesMax) refuse(tooLarge(bounds.bytesMax))
      else if (!decoder) keep(chunk)
      else if (!decoder.write(chunk)) request.pause()
    }
    const onDecoded = () => settle({ kind: 'received', bytes: gathered.whole() })
    const onEnd = () => (decoder ? decoder.end() : onDecoded())
    const onClose = () => {
      if (!request.complete) settle({ kind: 'disconnected' })
    }
    const onDrain = () => request.resume()

    decoder
      ?.on('data', keep)
      .on('drain', onDrain)
      .on('end', onDecoded)
      .on('error', () =>
        refuse(problem('invalid_json', 'The body could not be decompressed. Check its Content-Encoding.')),
      )
    request.on('data', onData).on('end', onEnd).on('close', onClose)
    context.failBody = refuse
  })
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

/** Sends `100 Continue` to a client that waits for it. */
export function requestBody(context: RequestContext): void {
  context.response.writeContinue()
  context.expectation = 'none'
}

/** The steps of reading a larger body alternate with other requests. */
export const LARGE_BYTES = 1024 * 1024

/** The first setImmediate runs before the loop looks at sockets again, the second after. */
export async function yieldToEventLoop(): Promise<void> {
  await immediate()
  await immediate()
}

/**
 * When the event loop is late, a request may have waited in its socket for longer than its client did. The disconnect is read one
 * iteration of the loop after the request, so this waits for that one instead of starting useless work under load.
 */
export async function hasDisconnected({ request: { socket } }: RequestContext): Promise<boolean> {
  await yieldToEventLoop()
  return socket.readableEnded || socket.destroyed
}
