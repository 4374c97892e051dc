import { isUtf8 } from 'node:buffer'
import { setImmediate as immediate } from 'node:timers/promises'
import { type Problem, problem } from '../model/problem.ts'
import { findJsonError } from '../wire/json/find-json-error.ts'
import { advanceScan, beginScan, type JsonScan } from '../wire/json/scan-json.ts'
import { collectBody, tooLarge } from './collect-body.ts'
import { readContentCoding } from './content-coding.ts'
import { refuseContentType } from './content-type.ts'
import type { ReadBody } from './edge-deps.ts'
import type { BodyBounds } from './edge-options.ts'
import type { Exchange } from './exchange.ts'

export type ReceivedBody =
  | { readonly kind: 'received'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly problem: Problem }
  /** The client went before its body was complete: there is nobody to answer. */
  | { readonly kind: 'gone' }

export type ReadBodyOutcome =
  | { readonly kind: 'read'; readonly body: ReadBody }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** From here on the steps of reading a body take turns with everybody else's work. */
const LARGE_BYTES = 1024 * 1024
/** Scanned without a pause: some ten milliseconds of the slowest text. */
const SCANNED_BYTES = 4 * 1024 * 1024
/** Looking for a mistake costs time, and nobody counts lines in a body this large: behind it, its place is not said. */
const LOCATED_BYTES_MAX = 1024 * 1024

/** The body as bytes, or the problem with it; what the head gives away is refused first. */
export async function receiveBody(exchange: Exchange): Promise<ReceivedBody> {
  const { request, response, connection, edge } = exchange
  const { bytesMax } = edge.options.body
  const coding = readContentCoding(request.headers)
  const refusal =
    refuseContentType(request.headers['content-type']) ?? (coding.kind === 'refused' ? coding.problem : undefined)
  if (refusal) return { kind: 'refused', problem: refusal }
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return { kind: 'refused', problem: tooLarge(bytesMax) }
  if (request.destroyed) return { kind: 'gone' }
  if (connection.failure && !request.complete) return { kind: 'refused', problem: connection.failure }

  if (exchange.expectation === 'continue') {
    response.writeContinue()
    exchange.expectation = 'none'
  }
  const collected = await collectBody(exchange, coding.kind === 'coded' ? coding.createDecoder() : undefined)
  if (collected.kind !== 'collected') return collected
  await takeTurns(collected.bytes)
  return { kind: 'received', bytes: collected.bytes }
}

/** The bytes as members and as a value: the structure is bounded before JSON.parse may build anything of it. */
export async function readBody(bytes: Buffer, bounds: BodyBounds): Promise<ReadBodyOutcome> {
  if (bytes.length === 0) return refused(problem('invalid_json', 'The body is empty. Send a JSON object.'))
  if (!isUtf8(bytes)) return refused(problem('invalid_json', 'The body is not valid UTF-8. Encode it as UTF-8.'))
  const scan = await scanInPieces(bytes, bounds)
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
  await takeTurns(bytes)
  const text = bytes.toString('utf8')
  await takeTurns(bytes)
  const value = parseText(text)
  if (value !== undefined) return { kind: 'read', body: { bytes, members: scan.members, value } }
  await takeTurns(bytes)
  return refused(invalidJson(bytes))
}

/** A byte of space costs as much as a byte of a number, and a client chooses how many come. */
async function scanInPieces(bytes: Buffer, bounds: BodyBounds): Promise<JsonScan> {
  const state = beginScan(bytes)
  for (let pauseAt = SCANNED_BYTES; ; pauseAt += SCANNED_BYTES) {
    const scan = advanceScan(bytes, bounds, state, pauseAt)
    if (scan !== undefined) return scan
    await takeTurns(bytes)
  }
}

/** Undefined when it is not JSON; what it is has been seen before: an object. */
function parseText(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** The first setImmediate runs before the loop looks at sockets again, the second after. */
async function takeTurns(bytes: Buffer): Promise<void> {
  if (bytes.length <= LARGE_BYTES) return
  await immediate()
  await immediate()
}

const refused = (refusal: Problem): ReadBodyOutcome => ({ kind: 'refused', problem: refusal })

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
