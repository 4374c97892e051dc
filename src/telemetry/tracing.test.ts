import * as api from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { readTraceContext } from './tracing.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const parent = (traceparent: unknown, tracestate?: unknown) =>
  readTraceContext(api, tracestate === undefined ? { traceparent } : { traceparent, tracestate })

describe('the trace of a client', () => {
  it('is read from traceparent and tracestate', () => {
    const read = parent(`00-${TRACE}-${SPAN}-01`, 'shop=1, tenant@ads=a b')
    expect(read).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true })
    expect(read?.traceState?.serialize()).toBe('shop=1,tenant@ads=a b')
  })

  it('of a later version is read as far as this one goes', () => {
    expect(parent(`cc-${TRACE}-${SPAN}-03-what-the-future-will-be`)).toMatchObject({ traceId: TRACE, traceFlags: 1 })
  })

  it.each([
    ['no header', undefined],
    ['two headers', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a list', [`00-${TRACE}-${SPAN}-01`]],
    ['zeros as a trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['zeros as a span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['the forbidden version', `ff-${TRACE}-${SPAN}-01`],
    ['more than version 00 has', `00-${TRACE}-${SPAN}-01-x`],
    ['a line break', `00-${TRACE}-${SPAN}-01\nx: y`],
    ['a megabyte', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1_000_000)}`],
  ])('is ignored: %s', (_, traceparent) => {
    expect(parent(traceparent)).toBeUndefined()
  })

  it.each([
    ['too long', `a=${'x'.repeat(600)}`],
    ['too many members', Array.from({ length: 33 }, (_, member) => `a${member}=1`).join(',')],
    ['not a list of members', 'hello'],
    ['control characters', 'a=b\r\nset-cookie: x'],
    ['empty', ''],
  ])('keeps its ids without a tracestate that is %s', (_, tracestate) => {
    const read = parent(`00-${TRACE}-${SPAN}-00`, tracestate)
    expect(read).toMatchObject({ traceId: TRACE, traceFlags: 0 })
    expect(read?.traceState).toBeUndefined()
  })
})
