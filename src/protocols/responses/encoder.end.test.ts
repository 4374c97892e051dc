import { describe, expect, it } from 'vitest'
import {
  callDelta,
  callStart,
  encodeAll,
  end,
  eventReader,
  eventSummaries,
  finalOf,
  frameOf,
  openEncoder,
  requestWith,
  seal,
  settledCharge,
  text,
} from '../../../test/fixtures/protocols/responses/encoder.ts'
import { checkResponsesStream, eventsOf } from '../../../test/support/responses-grammar.ts'
import { problem } from '../../model/problem.ts'

describe('an end', () => {
  it('may be encoded once to be stored and once to be sent', () => {
    const encoder = openEncoder()
    const adapter = encoder.translate(eventReader())
    const sent = String(adapter.read(frameOf(text('Hi'), end('stop'))).bytes)
    const kept = String(adapter.close(settledCharge()))
    expect(String(adapter.close(settledCharge()))).toBe(kept)
    const failed = String(encoder.fail(problem('ledger_unavailable', 'Not now.')))
    expect(String(encoder.fail(problem('ledger_unavailable', 'Not now.')))).toBe(failed)
    expect(checkResponsesStream(sent + kept)).toEqual([])
    expect(checkResponsesStream(sent + failed)).toEqual([])
  })

  it('of an answer without content is the same each time too', () => {
    const encoder = openEncoder({ fields: { include: ['reasoning.encrypted_content'] } })
    const adapter = encoder.translate(eventReader())
    expect(adapter.read(frameOf(seal('gAAA'), end('stop'))).bytes).toBeUndefined()
    const kept = String(adapter.close(settledCharge()))
    expect(String(adapter.close(settledCharge()))).toBe(kept)
    expect(checkResponsesStream(kept)).toEqual([])
    expect(finalOf(kept).output).toMatchObject([{ encrypted_content: 'sealed responses lane gAAA' }])
  })

  it('has only usage behind it', () => {
    const stream = encodeAll(openEncoder(), [text('Hi'), end('stop')], [text(' again'), callStart(0)])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([{ content: [{ text: 'Hi' }] }])
  })

  it('needs the ending of the reader', () => {
    const adapter = openEncoder().translate(eventReader())
    adapter.read(frameOf(text('Hi')))
    expect(() => adapter.close(settledCharge())).toThrow('before its reader has found its end')
  })
})

describe('a failure', () => {
  it('of an answer that could not be sent yet starts again at the first frame', () => {
    const encoder = openEncoder({ others: { mayOpen: () => false } })
    const adapter = encoder.translate(eventReader())
    adapter.read(frameOf(text('x')))
    const bytes = encoder.fail(problem('server_is_overloaded', 'No room.'))
    expect(checkResponsesStream(String(bytes))).toEqual([])
    expect(finalOf(String(bytes))).toMatchObject({ status: 'failed', output: [] })
  })

  const broke = problem('upstream_error', 'It broke.', { source: 'upstream' })

  it('is sent in two events, with the items so far, and nothing follows', () => {
    const encoder = openEncoder()
    const adapter = encoder.translate(eventReader())
    const before = adapter.read(frameOf(text('Hel'), callStart(0), callDelta(0, '{"a'), callStart(1))).bytes
    const stream = `${before}${encoder.fail(broke)}`
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventsOf(stream).at(-2)).toMatchObject({
      type: 'error',
      code: 'upstream_error',
      message: 'It broke.',
      param: null,
      error: {
        message: 'It broke.',
        type: 'server_error',
        param: null,
        code: 'upstream_error',
        source: 'upstream',
        request_id: 'req_1',
      },
    })
    const { output, error, usage } = finalOf(stream)
    expect(output).toMatchObject([{ status: 'completed' }, { status: 'incomplete', arguments: '{"a' }])
    expect({ error, usage }).toEqual({ error: { code: 'upstream_error', message: 'It broke.' }, usage: null })
    expect(JSON.parse(encoder.withoutItems(encoder.status()))).toEqual({ ...finalOf(stream), output: [] })
    expect(encoder.keepAlive()).toBeUndefined()
  })

  it('opens the response first where nothing was sent', () => {
    const stream = String(openEncoder().fail(broke))
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventSummaries(stream)).toEqual(['created', 'in_progress', 'error', 'failed'])
  })
})

describe('a response that could not be stored', () => {
  it('has store false once it is known', () => {
    const request = requestWith({}, { delivery: 'json', storedInput: () => [] })
    const encoder = openEncoder({ others: { request } })
    const adapter = encoder.translate(eventReader())
    adapter.read(frameOf(text('x'), end('stop')))
    expect(JSON.parse(String(adapter.close(settledCharge())))).toMatchObject({ store: true, status: 'completed' })
    encoder.encodeUnstored()
    expect(JSON.parse(String(adapter.close(settledCharge())))).toMatchObject({ store: false, status: 'completed' })
  })
})
