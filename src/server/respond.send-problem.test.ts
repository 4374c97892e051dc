import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { type ProblemCode, problem } from '../model/problem.ts'
import { retryHeadersFor } from './respond.ts'

const asked = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage
const hints = (headers: Record<string, string>, code: ProblemCode) =>
  retryHeadersFor(asked(headers), problem(code, 'x', { retryAfterSeconds: 2 }))

test('Codex gets no Retry-After on an overload, because it would retry thirty times', () => {
  for (const originator of ['codex_exec', 'codex_cli_rs', 'codex_vscode']) {
    expect(hints({ originator }, 'server_is_overloaded')).toEqual({ 'retry-after-ms': '2000' })
  }
})

test('other clients, and Codex in all other cases, get Retry-After in seconds', () => {
  expect(hints({}, 'server_is_overloaded')).toEqual({ 'retry-after': '2' })
  expect(hints({ originator: 'opencode' }, 'server_is_overloaded')).toEqual({ 'retry-after': '2' })
  expect(hints({ originator: 'codex_exec' }, 'rate_limit_exceeded')).toEqual({ 'retry-after': '2' })
  expect(hints({ originator: 'codex_exec' }, 'upstream_timeout')).toEqual({ 'retry-after': '2' })
  expect(hints({ originator: 'codex_exec' }, 'allowance_exhausted')).toEqual({
    'retry-after': '2',
    'x-should-retry': 'false',
  })
  expect(hints({ originator: 'codex_exec' }, 'model_not_found')).toEqual({})
})
