import { expect } from 'vitest'
import { isRequestId } from '../../src/model/ids.ts'
import { PROBLEMS, type ProblemCode } from '../../src/model/problem.ts'
import type { Answer } from './send-chat.ts'

interface Expected {
  readonly param?: string | null
  readonly message?: RegExp
}

/** An error as every one has to be: the status of the table, the one envelope, one id, and the word on coming back. */
export function expectProblem(answer: Answer, code: ProblemCode, { param, message }: Expected = {}): void {
  const { status, type, retry } = PROBLEMS[code]
  expect(answer.json).toMatchObject({ error: { code, type, source: 'gateway', request_id: answer.requestId } })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(isRequestId(answer.requestId), answer.requestId).toBe(true)
  expect(Object.keys(answer.json)).toEqual(['error'])
  expect(answer.json.error.message).toMatch(/^\S.{10,}/)
  if (param !== undefined) expect(answer.json.error.param).toBe(param)
  if (message !== undefined) expect(answer.json.error.message).toMatch(message)
  expect(answer.headers.get('x-should-retry')).toBe(retry === 'never' || retry === 'reset' ? 'false' : null)
  const wait = answer.headers.get('retry-after')
  if (retry === 'after' || retry === 'reset') expect(wait).toMatch(/^[1-9]\d*$/)
  else expect(wait).toBe(null)
  expect(JSON.stringify(answer.json)).not.toMatch(/mr_(wallet|builder)_\w{8}/)
}
