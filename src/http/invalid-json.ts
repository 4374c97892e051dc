import { type Problem, problem } from '../model/problem.ts'
import { findJsonError } from '../wire/json/find-json-error.ts'

/** Looking for a mistake costs time, and nobody counts lines in a body this large: behind it, its place is not said. */
const LOCATED_BYTES_MAX = 1024 * 1024

/** What is wrong with a body that is not JSON, and where. */
export function invalidJson(bytes: Buffer): Problem {
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
