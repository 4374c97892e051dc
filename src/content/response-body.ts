import { INNER_BOUNDS } from '../wire/json/inner-bounds.ts'
import { jsonArray } from '../wire/json/json-array.ts'
import { scanJson } from '../wire/json/scan-json.ts'
import { spliceMembers } from '../wire/json/splice-members.ts'
import type { ResponseStatus } from './response-rows.ts'

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
  const changes = new Map<string, Buffer | string>([['output', jsonArray(output)]])
  const said = scanned.members.find(({ name }) => name === 'status')
  const saysStatus = said === undefined ? '' : object.toString('utf8', said.valueStart, said.valueEnd)
  if (saysStatus !== JSON.stringify(status)) {
    changes.set('status', JSON.stringify(status))
    if (status === 'failed') changes.set('error', JSON.stringify(INTERRUPTED))
  }
  return spliceMembers({ bytes: object, members: scanned.members }, changes)
}
