import { isAscii, isUtf8 } from 'node:buffer'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import { findJsonError } from '../../wire/json/find-json-error.ts'
import { parseInPieces } from '../../wire/json/parse-in-pieces.ts'
import { scanInPieces } from '../../wire/json/scan-json.ts'
import type { ParsedBody } from '../../wire/request-reader.ts'
import type { LoadPlace } from '../door/load-guard.ts'
import type { BodyBounds } from '../edge-options.ts'
import { giveWay } from './give-way.ts'

export type ReadBodyOutcome = { readonly kind: 'read'; readonly body: ParsedBody } | Refused

/** Scanned without a pause: some ten milliseconds of the slowest text. */
const SCANNED_BYTES = 4 * 1024 * 1024

/**
 * The bytes as members and as a value. The structure is bounded, and room is taken for all of it, before JSON.parse builds
 * anything. Whoever asked gives the room back when nobody needs the value any more.
 */
export async function readBody(
  bytes: Buffer,
  bounds: BodyBounds,
  place: Pick<LoadPlace, 'take'>,
): Promise<ReadBodyOutcome> {
  if (bytes.length === 0) return refused(problem('invalid_json', 'The body is empty. Send a JSON object.'))
  if (!isUtf8(bytes)) return refused(problem('invalid_json', 'The body is not valid UTF-8. Encode it as UTF-8.'))
  // A byte of space costs as much as a byte of a number, and a client chooses how many come.
  const scan = await scanInPieces(bytes, bounds, { pieceBytes: SCANNED_BYTES, pause: () => giveWay(bytes) })
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
  await giveWay(bytes)
  // The scan has seen that it begins as an object, so it is one or no JSON at all.
  const value = (await parseInPieces(bytes, scan.large)) as ParsedBody['value'] | undefined
  if (value !== undefined) return { kind: 'read', body: { bytes, members: scan.members, value } }
  await giveWay(bytes)
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
