import { describe, expect, it } from 'vitest'
import {
  callDelta,
  callStart,
  encodeAll,
  end,
  eventReader,
  finalOf,
  frameOf,
  openEncoder,
  requestWith,
  seal,
  settledCharge,
  shortly,
  text,
} from '../../../test/fixtures/protocols/responses/encoder.ts'
import { checkResponsesStream, eventsOf } from '../../../test/support/responses-grammar.ts'
import { problem } from '../../model/problem.ts'

describe('an end', () => {
  it('may be written once to be kept and once to be sent', () => {
    const voice = openEncoder()
    const adapter = voice.translate(eventReader())
    const said = String(adapter.read(frameOf(text('Hi'), end('stop'))).bytes)
    const kept = String(adapter.close(settledCharge()))
    expect(String(adapter.close(settledCharge()))).toBe(kept)
    const failed = String(voice.fail(problem('ledger_unavailable', 'Not now.')))
    expect(String(voice.fail(problem('ledger_unavailable', 'Not now.')))).toBe(failed)
    expect(checkResponsesStream(said + kept)).toEqual([])
    expect(checkResponsesStream(said + failed)).toEqual([])
  })

  it('of an answer without content is the same each time too', () => {
    const voice = openEncoder({ fields: { include: ['reasoning.encrypted_content'] } })
    const adapter = voice.translate(eventReader())
    expect(adapter.read(frameOf(seal('gAAA'), end('stop'))).bytes).toBeUndefined()
    const kept = String(adapter.close(settledCharge()))
    expect(String(adapter.close(settledCharge()))).toBe(kept)
    expect(checkResponsesStream(kept)).toEqual([])
    expect(finalOf(kept).output).toMatchObject([{ encrypted_content: 'sealed responses lane gAAA' }])
  })

  it('has nothing behind it but counts', () => {
    const stream = encodeAll(openEncoder(), [text('Hi'), end('stop')], [text(' again'), callStart(0)])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([{ content: [{ text: 'Hi' }] }])
  })

  it('is no end before the reader has told why', () => {
    const adapter = openEncoder().translate(eventReader())
    adapter.read(frameOf(text('Hi')))
    expect(() => adapter.close(settledCharge())).toThrow('before its reader has found its end')
  })
})

describe('a failure', () => {
  it('of which nothing could be told yet begins at the beginning, without what was made meanwhile', () => {
    const voice = openEncoder({ others: { mayOpen: () => false } })
    const adapter = voice.translate(eventReader())
    adapter.read(frameOf(text('x')))
    const bytes = voice.fail(problem('server_is_overloaded', 'No room.'))
    expect(checkResponsesStream(String(bytes))).toEqual([])
    expect(finalOf(String(bytes))).toMatchObject({ status: 'failed', output: [] })
  })

  const broke = problem('upstream_error', 'It broke.', { source: 'upstream' })

  it('is told twice, with the items so far, and nothing follows', () => {
    const voice = openEncoder()
    const adapter = voice.translate(eventReader())
    const before = adapter.read(frameOf(text('Hel'), callStart(0), callDelta(0, '{"a'), callStart(1))).bytes
    const stream = `${before}${voice.fail(broke)}`
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
    expect(JSON.parse(voice.withoutItems(voice.status()))).toEqual({ ...finalOf(stream), output: [] })
    expect(voice.keepAlive()).toBeUndefined()
  })

  it('opens the response first where nothing has been said', () => {
    const stream = String(openEncoder().fail(broke))
    expect(checkResponsesStream(stream)).toEqual([])
    expect(shortly(stream)).toEqual(['created', 'in_progress', 'error', 'failed'])
  })
})

describe('a response that could not be stored', () => {
  it('says so where it is told at once, and only there', () => {
    const request = requestWith({}, { delivery: 'json', storedInput: () => [] })
    const voice = openEncoder({ others: { request } })
    const adapter = voice.translate(eventReader())
    adapter.read(frameOf(text('x'), end('stop')))
    expect(JSON.parse(String(adapter.close(settledCharge())))).toMatchObject({ store: true, status: 'completed' })
    voice.encodeUnstored()
    expect(JSON.parse(String(adapter.close(settledCharge())))).toMatchObject({ store: false, status: 'completed' })
  })
})
