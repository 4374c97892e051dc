import { describe, expect, it } from 'vitest'
import { encodedBytes } from '../../../test/fixtures/protocols/encoded-bytes.ts'
import {
  callDelta,
  callEnd,
  callStart,
  encodeAll,
  end,
  eventReader,
  eventSummaries,
  finalOf,
  frameOf,
  openEncoder,
  reasoning,
  settledCharge,
  text,
} from '../../../test/fixtures/protocols/responses/encoder.ts'
import { checkResponsesStream, eventsOf } from '../../../test/support/responses-grammar.ts'
import type { TurnEvent } from '../../model/event.ts'

describe('a translated stream', () => {
  it('sends a text as one message, framed, numbered and repeated at the end', () => {
    const stream = encodeAll(openEncoder(), [text('Hel')], [text('lo')], [end('stop')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventSummaries(stream)).toEqual([
      'created',
      'in_progress',
      'output_item.added msg_1',
      'content_part.added',
      'output_text.delta Hel',
      'output_text.delta lo',
      'output_text.done',
      'content_part.done',
      'output_item.done msg_1',
      'completed',
    ])
    expect(stream.split('\n\n').slice(4, 6).join('\n')).toBe(
      [
        'event: response.output_text.delta',
        'data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hel","logprobs":[]}',
        'event: response.output_text.delta',
        'data: {"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo","logprobs":[]}',
      ].join('\n'),
    )
    expect(finalOf(stream)).toMatchObject({
      status: 'completed',
      completed_at: 1_800_000_005,
      output: [
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
        },
      ],
      usage: {
        input_tokens: 11,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 16,
        millrace: { charge: '0.000123', currency: 'USD', tier: 0, price_version: 7 },
      },
    })
  })

  it('sends nothing before the first content, and drops the items of an earlier lane', () => {
    const encoder = openEncoder()
    const first = encoder.translate(eventReader())
    const begun = frameOf({ type: 'message-start', phase: 'commentary' }, text(''), { type: 'reasoning-start' })
    expect(first.read(begun)).toEqual({ bytes: undefined, isContent: false })
    const second = encoder.translate(eventReader())
    const encoded = second.read(frameOf(text('Hi')))
    expect(encoded.isContent).toBe(true)
    const stream = `${encoded.bytes}${second.read(frameOf(end('stop'))).bytes}${second.close(settledCharge())}`
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toHaveLength(1)
  })

  it('sends interleaved calls one after the other, and counts held bytes', () => {
    const adapter = openEncoder().translate(eventReader())
    const heldAfter = (...events: TurnEvent[]) => {
      const { bytes } = adapter.read(frameOf(...events))
      return [adapter.state.heldBytes, bytes === undefined ? [] : eventSummaries(String(bytes))]
    }
    expect(heldAfter(callStart(0), callDelta(0, '{'))).toEqual([
      0,
      ['created', 'in_progress', 'output_item.added fc_1', 'function_call_arguments.delta {'],
    ])
    expect(heldAfter(callStart(1), callDelta(1, '{"ä'))).toEqual([4, []])
    expect(heldAfter(callDelta(0, '}'), callDelta(1, '":1}'))).toEqual([8, ['function_call_arguments.delta }']])
    expect(heldAfter(callEnd(0))).toEqual([
      0,
      [
        'function_call_arguments.done',
        'output_item.done fc_1',
        'output_item.added fc_2',
        'function_call_arguments.delta {"ä":1}',
      ],
    ])
  })

  it('counts a call as content before it has any arguments', () => {
    const encoded = openEncoder()
      .translate(eventReader())
      .read(frameOf(callStart(0)))
    expect([encoded.isContent, eventSummaries(String(encoded.bytes)).at(-1)]).toEqual([true, 'output_item.added fc_1'])
  })

  it('adds nothing to a call that has ended or never began', () => {
    const late = [callDelta(0, ' late'), callDelta(7, 'never'), callEnd(7), end('tool-calls')]
    const stream = encodeAll(openEncoder(), [callStart(0), callDelta(0, '{}'), callEnd(0)], late)
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([{ arguments: '{}' }])
  })

  it('holds a text that comes inside a call until the call ends', () => {
    const stream = encodeAll(
      openEncoder(),
      [callStart(0), callDelta(0, '{'), text('Mean')],
      [callDelta(0, '}'), text('while')],
      [callEnd(0), end('tool-calls')],
    )
    expect(checkResponsesStream(stream)).toEqual([])
    const [call, message] = finalOf(stream).output
    expect([call.arguments, message.content[0].text]).toEqual(['{}', 'Meanwhile'])
  })

  it('has custom tools and namespaces as the client declared them', () => {
    const custom: TurnEvent = {
      type: 'tool-call-start',
      call: 0,
      callId: 'call_a',
      name: 'patch',
      namespace: 'files',
      tool: 'custom',
    }
    const stream = encodeAll(openEncoder(), [custom, callDelta(0, '*** Begin')], [callEnd(0), end('tool-calls')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventSummaries(stream).slice(2, 6)).toEqual([
      'output_item.added ctc_1',
      'custom_tool_call_input.delta *** Begin',
      'custom_tool_call_input.done',
      'output_item.done ctc_1',
    ])
    expect(finalOf(stream)).toMatchObject({
      status: 'completed',
      output: [
        {
          id: 'ctc_1',
          type: 'custom_tool_call',
          call_id: 'call_a',
          name: 'patch',
          namespace: 'files',
          input: '*** Begin',
          status: 'completed',
        },
      ],
    })
  })

  it.each([
    ['length', 'max_output_tokens'],
    ['content-filter', 'content_filter'],
  ] as const)('that is ended by %s has an incomplete last item', (reason, incompleteReason) => {
    const cut = [callDelta(0, '{"a'), callEnd(0), end(reason)]
    const stream = encodeAll(openEncoder(), [text('Let me look.'), callStart(0)], cut)
    expect(checkResponsesStream(stream)).toEqual([])
    const { status, incomplete_details, completed_at, output } = finalOf(stream)
    expect({ status, incomplete_details, completed_at }).toEqual({
      status: 'incomplete',
      incomplete_details: { reason: incompleteReason },
      completed_at: null,
    })
    expect(output.map((item: { status: string }) => item.status)).toEqual(['completed', 'incomplete'])
  })

  it('treats the item before an empty one as the last', () => {
    const stream = encodeAll(
      openEncoder(),
      [text('Hi')],
      [{ type: 'message-start', phase: 'final_answer' }, end('length')],
    )
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([{ status: 'incomplete' }])
  })

  it('keeps commentary and final answer apart', () => {
    const stream = encodeAll(
      openEncoder(),
      [{ type: 'message-start', phase: 'commentary' }, text('Looking.')],
      [{ type: 'message-start', phase: 'final_answer' }, text('Found.'), end('stop')],
    )
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output.map((item: { phase: string }) => item.phase)).toEqual(['commentary', 'final_answer'])
  })

  it('sends a refusal as a part of its own', () => {
    const stream = encodeAll(openEncoder(), [text('Well. '), { type: 'refusal-delta', text: 'No.' }, end('stop')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output[0].content).toEqual([
      { type: 'output_text', text: 'Well. ', annotations: [], logprobs: [] },
      { type: 'refusal', refusal: 'No.' },
    ])
  })

  it('has logprobs, those of an empty text too', () => {
    const logprob = (token: string) => ({ token, logprob: -0.5, bytes: undefined, top: [] })
    const expected = { token: 'ä', logprob: -0.5, bytes: [], top_logprobs: [] }
    const stream = encodeAll(
      openEncoder(),
      [{ type: 'text-delta', text: '', logprobs: [logprob('ä')] }],
      [{ type: 'text-delta', text: 'ä', logprobs: [logprob('ä')] }],
      [text('!'), end('stop')],
    )
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventsOf(stream)[4]).toMatchObject({ delta: 'ä', logprobs: [expected, expected] })
    expect(finalOf(stream).output[0].content[0].logprobs).toEqual([expected, expected])
  })

  it('without content is a whole answer without items', () => {
    const stream = encodeAll(openEncoder(), [{ type: 'message-start', phase: undefined }, text('')], [end('stop')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventSummaries(stream)).toEqual(['created', 'in_progress', 'completed'])
    expect(finalOf(stream).output).toEqual([])
  })
})

describe('a silence', () => {
  it('is broken by the opening, by the response again, and by empty deltas', () => {
    const encoder = openEncoder()
    const adapter = encoder.translate(eventReader())
    const sent: unknown[] = [encoder.keepAlive(), encoder.keepAlive()]
    sent.push(adapter.read(frameOf(callStart(0))).bytes, encoder.keepAlive())
    sent.push(adapter.read(frameOf(callDelta(0, '{}'), callEnd(0))).bytes, encoder.keepAlive())
    sent.push(adapter.read(frameOf(text('Hi'))).bytes, encoder.keepAlive())
    sent.push(adapter.read(frameOf(end('tool-calls'))).bytes, encoder.keepAlive())
    sent.push(adapter.close(settledCharge()))
    const stream = sent.join('')
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventSummaries(stream)).toEqual([
      'created',
      'in_progress',
      'in_progress',
      'output_item.added fc_1',
      'function_call_arguments.delta ',
      'function_call_arguments.delta {}',
      'function_call_arguments.delta ',
      'function_call_arguments.done',
      'output_item.done fc_1',
      'output_item.added msg_2',
      'content_part.added',
      'output_text.delta Hi',
      'output_text.delta ',
      'output_text.done',
      'content_part.done',
      'output_item.done msg_2',
      'in_progress',
      'completed',
    ])
    expect(encoder.keepAlive()).toBeUndefined()
  })

  it('is not broken before the response can be fetched by its id', () => {
    let stored = false
    const encoder = openEncoder({ others: { mayOpen: () => stored } })
    expect(encoder.keepAlive()).toBeUndefined()
    stored = true
    expect(eventSummaries(String(encoder.keepAlive()))).toEqual(['created', 'in_progress'])
  })

  it('is not broken while the first frame waits', () => {
    let stored = false
    const encoder = openEncoder({ others: { mayOpen: () => stored } })
    const adapter = encoder.translate(eventReader())
    const waiting = adapter.read(frameOf(text('x'))).bytes
    expect(encoder.keepAlive()).toBeUndefined()
    stored = true
    const bytes = Buffer.concat([encodedBytes(waiting), encoder.keepAlive()!])
    expect(eventsOf(String(bytes)).map(({ sequence_number }) => sequence_number)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('is not broken for a client that wants JSON', () => {
    expect(openEncoder({ delivery: 'json' }).keepAlive()).toBeUndefined()
  })
})

describe('a translated reply', () => {
  it('is the whole response at once, and the same that a stream ends with', () => {
    const events = [reasoning('Hm'), text('Hello'), callStart(0), callDelta(0, '{}'), callEnd(0), end('tool-calls')]
    const encoder = openEncoder({ delivery: 'json' })
    const adapter = encoder.translate(eventReader())
    expect(adapter.read(frameOf(...events))).toEqual({ bytes: undefined, isContent: false })
    expect(adapter.state.heldBytes).toBe(adapter.state.outputBytes)
    const body = JSON.parse(String(adapter.close(settledCharge())))
    expect(body).toEqual(finalOf(encodeAll(openEncoder(), events)))
    expect(JSON.parse(encoder.withoutItems(encoder.status()))).toEqual({ ...body, output: [] })
    expect(encoder.storedItems()).toEqual(body.output)
  })

  it('that was cut ends with an incomplete item', () => {
    const body = encodeAll(openEncoder({ delivery: 'json' }), [reasoning('Hm'), text('Hel'), end('length')])
    expect(JSON.parse(body)).toMatchObject({ status: 'incomplete', output: [{}, { status: 'incomplete' }] })
  })
})
