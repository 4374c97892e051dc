import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import { jsonArray } from '../../wire/json/array-elements.ts'
import { parseInPieces } from '../../wire/json/parse-in-pieces.ts'
import { PIECE_BYTES, passTurnstile } from '../../wire/json/piece-turns.ts'
import { type JsonBounds, type JsonScan, scanInPieces } from '../../wire/json/scan-json.ts'
import { spliceMembers } from '../../wire/json/splice-members.ts'
import type { ParsedBody } from '../../wire/request-reader.ts'
import { expandedTooLarge } from './input-references.ts'

/** Of a request with all that it refers to in it, as of one that came whole. */
export type InputBounds = JsonBounds & { readonly bytesMax: number }

type ReplacedInput = { readonly kind: 'replaced'; readonly body: ParsedBody } | Refused

/** The same request with this input in it, understood anew. */
export async function replaceInput(
  bounds: InputBounds,
  body: ParsedBody,
  items: readonly Buffer[],
): Promise<ReplacedInput> {
  // A short item may stand for something long, and may come often: what it would become is added up before it does.
  if (items.reduce((sum, { length }) => sum + length, 0) > bounds.bytesMax)
    return refused(expandedTooLarge(bounds.bytesMax))
  const changes = new Map([
    ['previous_response_id', null],
    ['input', jsonArray(items)],
  ])
  const bytes = spliceMembers(body, changes)
  if (bytes.length > bounds.bytesMax) return refused(expandedTooLarge(bounds.bytesMax))
  const scan = await scanInPieces(bytes, bounds, { pieceBytes: PIECE_BYTES, pause: passTurnstile })
  if (scan.kind !== 'scanned') return refused(expandedTooMuch(scan, bounds))
  const value = (await parseInPieces(bytes, scan.large)) as ParsedBody['value']
  return { kind: 'replaced', body: { bytes, members: scan.members, value } }
}

function expandedTooMuch(scan: Exclude<JsonScan, { kind: 'scanned' }>, bounds: JsonBounds): Problem {
  const all = 'With everything that it refers to, the request'
  switch (scan.kind) {
    case 'too-deep':
      return problem('request_too_large', `${all} is nested deeper than ${bounds.depthMax} levels.`)
    case 'too-many-values':
      return problem(
        'request_too_large',
        `${all} holds too many JSON values or fields; ${bounds.valuesMax} values are allowed.`,
      )
    case 'not-an-object':
    case 'broken':
      throw new Error('a request that was read is none any more with its references resolved')
  }
}
