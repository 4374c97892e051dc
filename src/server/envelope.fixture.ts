import { expect } from 'vitest'
import { isRequestId } from '../model/ids.ts'
import { PROBLEMS, type ProblemCode } from '../model/problem.ts'
import type { RawAnswer } from './edge.fixture.ts'

interface Envelope {
  readonly error: Readonly<Record<'message' | 'type' | 'code' | 'source' | 'request_id', string>> & {
    readonly param: string | null
  }
}

/** That an answer is this problem, in the one envelope, with the one id. */
export function expectProblem(answer: RawAnswer, code: ProblemCode, message?: RegExp): void {
  const { error } = JSON.parse(answer.body) as Envelope
  expect({ status: answer.status, code: error.code, type: error.type }).toEqual({
    status: PROBLEMS[code].status,
    code,
    type: PROBLEMS[code].type,
  })
  expect(Object.keys(error)).toEqual(['message', 'type', 'param', 'code', 'source', 'request_id'])
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.headers['x-request-id']).toBe(error.request_id)
  expect(isRequestId(error.request_id)).toBe(true)
  expect(error.message).toMatch(message ?? /\w/)
}
