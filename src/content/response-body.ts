import { isObject } from '../lib/is-object.ts'
import { jsonArray } from '../wire/json/array-elements.ts'
import { INNER_BOUNDS, scanJson } from '../wire/json/scan-json.ts'
import { spliceMembers } from '../wire/json/splice-members.ts'
import { tryParse } from '../wire/json/try-parse.ts'
import type { ResponseStatus } from './response-rows.ts'

/** In the object of a response whose client has asked for sealed reasoning: its items are shown with it, others are not. */
export const SHOWS_SEALS = 'shows_seals'

const INTERRUPTED = {
  code: 'server_error',
  message: 'The server stopped while this response was running. What was delivered of it has been charged; ask again.',
}

/**
 * The response as its client sees it: the object with its output put in. One whose process died is told by its row alone;
 * its object still says that it is running.
 */
export function responseBody(object: Buffer, status: ResponseStatus, output: readonly Buffer[]): Buffer | undefined {
  const scanned = scanJson(object, INNER_BOUNDS)
  if (scanned.kind !== 'scanned') return undefined
  const shows = scanned.members.some(({ name }) => name === SHOWS_SEALS)
  const changes = new Map<string, Buffer | string | null>([
    ['output', jsonArray(shows ? output : withoutSeals(output))],
    [SHOWS_SEALS, null],
  ])
  const said = scanned.members.find(({ name }) => name === 'status')
  const saysStatus = said === undefined ? '' : object.toString('utf8', said.valueStart, said.valueEnd)
  if (saysStatus !== JSON.stringify(status)) {
    changes.set('status', JSON.stringify(status))
    if (status === 'failed') changes.set('error', JSON.stringify(INTERRUPTED))
  }
  return spliceMembers({ bytes: object, members: scanned.members }, changes)
}

const SEAL = Buffer.from('"encrypted_content"')

function withoutSeals(output: readonly Buffer[]): readonly Buffer[] {
  if (!output.some((item) => item.includes(SEAL))) return output
  return output.map((item) => {
    const value = item.includes(SEAL) ? tryParse(item.toString('utf8')) : undefined
    if (!isObject(value) || value.type !== 'reasoning') return item
    const { encrypted_content: _sealed, ...told } = value
    return Buffer.from(JSON.stringify(told))
  })
}
