import type { Problem } from '../../model/problem.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { conversationIn } from '../conversation-in.fixture.ts'
import { scanJson } from '../json/scan-json.ts'
import type { ReadRequestOutcome } from '../shared/event-reader.ts'
import { parseRequest } from './parse-request.ts'

const BOUNDS = { depthMax: 1000, valuesMax: 1_000_000 }

/** A request as it comes through the door: text as it stands, or an object. */
export function read(body: string | object): ReadRequestOutcome {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const scanned = scanJson(bytes, BOUNDS)
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  const value = JSON.parse(bytes.toString())
  const nothingFound = {
    sealed: new Map(),
    boundTo: undefined,
    compacts: undefined,
    storable: () => [],
    previousItems: 0,
  }
  const previousResponseId = value.previous_response_id || undefined
  return parseRequest({ bytes, members: scanned.members, value }, { ...nothingFound, previousResponseId })
}

export function requestOf(body: string | object): ResponsesRequest {
  const outcome = read(body)
  if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
  if (outcome.request.protocol !== 'responses') throw new Error(outcome.request.protocol)
  return outcome.request
}

export function problemOf(body: string | object): Problem {
  const outcome = read(body)
  if (outcome.kind === 'read') throw new Error('The request was accepted')
  return outcome.problem
}

export const conversationOf = (body: string | object) => conversationIn(requestOf(body))

export const base = { model: 'demo', input: 'Hello' }
export const withItems = (...input: readonly unknown[]) => ({ model: 'demo', input })
