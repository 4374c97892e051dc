import { describe, expect, it } from 'vitest'
import { checkResponsesStream, eventsOf } from '../../../test/support/responses-grammar.ts'
import type { TurnEvent } from '../../model/event.ts'
import { problem } from '../../model/problem.ts'
import { eventReader, frameOf, openVoice, requestWith, settledCharge, tellAll } from './voice.fixture.ts'

const text = (words: string): TurnEvent => ({ type: 'text-delta', text: words })
const end = (reason: Extract<TurnEvent, { type: 'turn-end' }>['reason']): TurnEvent => ({ type: 'turn-end', reason })
const callStart = (call: number, name = 'look'): TurnEvent => ({
  type: 'tool-call-start',
  call,
  callId: `call_${call}`,
  name,
  namespace: undefined,
  tool: 'function',
})
const callDelta = (call: number, words: string): TurnEvent => ({ type: 'tool-call-delta', call, text: words })
const callEnd = (call: number): TurnEvent => ({ type: 'tool-call-end', call })
const reasoning = (words: string): TurnEvent => ({ type: 'reasoning-delta', text: words })
const seal = (data: string): TurnEvent => ({
  type: 'reasoning-seal',
  opaque: { wire: 'responses', origin: 'lane', data },
})

/** One line for each event: its type without the prefix, and what it says. */
const shortly = (stream: string): string[] =>
  eventsOf(stream).map(({ type, delta, item }) => {
    const short = type.replace('response.', '')
    if (delta !== undefined) return `${short} ${delta}`
    return item === undefined ? short : `${short} ${(item as { id: string }).id}`
  })

// biome-ignore lint/suspicious/noExplicitAny: a response is judged by what the test expects of it
const finalOf = (stream: string): any => eventsOf(stream).at(-1)?.response

describe('a translated stream', () => {
  it('tells a text as one message, framed, numbered and repeated at the end', () => {
    const stream = tellAll(openVoice(), [text('Hel')], [text('lo')], [end('stop')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(shortly(stream)).toEqual([
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

  it('says nothing before the first content, and forgets what an earlier lane had begun', () => {
    const voice = openVoice()
    const first = voice.translate(eventReader())
    const begun = frameOf({ type: 'message-start', phase: 'commentary' }, text(''), { type: 'reasoning-start' })
    expect(first.read(begun)).toEqual({ bytes: undefined, isContent: false })
    const second = voice.translate(eventReader())
    const told = second.read(frameOf(text('Hi')))
    expect(told.isContent).toBe(true)
    const stream = `${told.bytes}${second.read(frameOf(end('stop'))).bytes}${second.close(settledCharge())}`
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toHaveLength(1)
  })

  it('tells of interleaved calls one after the other, and counts what waits', () => {
    const carrier = openVoice().translate(eventReader())
    const heldAfter = (...events: TurnEvent[]) => {
      const told = carrier.read(frameOf(...events))
      return [carrier.heard.heldBytes, told.bytes === undefined ? [] : shortly(String(told.bytes))]
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

  it('takes a call for content before it has any arguments', () => {
    const told = openVoice()
      .translate(eventReader())
      .read(frameOf(callStart(0)))
    expect([told.isContent, shortly(String(told.bytes)).at(-1)]).toEqual([true, 'output_item.added fc_1'])
  })

  it('adds nothing to a call that is over, or that nobody has begun', () => {
    const late = [callDelta(0, ' late'), callDelta(7, 'never'), callEnd(7), end('tool-calls')]
    const stream = tellAll(openVoice(), [callStart(0), callDelta(0, '{}'), callEnd(0)], late)
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([{ arguments: '{}' }])
  })

  it('keeps a text that comes inside a call for afterwards', () => {
    const stream = tellAll(
      openVoice(),
      [callStart(0), callDelta(0, '{'), text('Mean')],
      [callDelta(0, '}'), text('while')],
      [callEnd(0), end('tool-calls')],
    )
    expect(checkResponsesStream(stream)).toEqual([])
    const [call, message] = finalOf(stream).output
    expect([call.arguments, message.content[0].text]).toEqual(['{}', 'Meanwhile'])
  })

  it('gives custom tools and namespaces back as the client knows them', () => {
    const custom: TurnEvent = {
      type: 'tool-call-start',
      call: 0,
      callId: 'call_a',
      name: 'patch',
      namespace: 'files',
      tool: 'custom',
    }
    const stream = tellAll(openVoice(), [custom, callDelta(0, '*** Begin')], [callEnd(0), end('tool-calls')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(shortly(stream).slice(2, 6)).toEqual([
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
  ] as const)('that is ended by %s has an incomplete last item', (reason, told) => {
    const cut = [callDelta(0, '{"a'), callEnd(0), end(reason)]
    const stream = tellAll(openVoice(), [text('Let me look.'), callStart(0)], cut)
    expect(checkResponsesStream(stream)).toEqual([])
    const { status, incomplete_details, completed_at, output } = finalOf(stream)
    expect({ status, incomplete_details, completed_at }).toEqual({
      status: 'incomplete',
      incomplete_details: { reason: told },
      completed_at: null,
    })
    expect(output.map((item: { status: string }) => item.status)).toEqual(['completed', 'incomplete'])
  })

  it('takes the item before an empty one for the last', () => {
    const stream = tellAll(openVoice(), [text('Hi')], [{ type: 'message-start', phase: 'final_answer' }, end('length')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([{ status: 'incomplete' }])
  })

  it('keeps commentary and final answer apart', () => {
    const stream = tellAll(
      openVoice(),
      [{ type: 'message-start', phase: 'commentary' }, text('Looking.')],
      [{ type: 'message-start', phase: 'final_answer' }, text('Found.'), end('stop')],
    )
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output.map((item: { phase: string }) => item.phase)).toEqual(['commentary', 'final_answer'])
  })

  it('tells a refusal as a part of its own', () => {
    const stream = tellAll(openVoice(), [text('Well. '), { type: 'refusal-delta', text: 'No.' }, end('stop')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output[0].content).toEqual([
      { type: 'output_text', text: 'Well. ', annotations: [], logprobs: [] },
      { type: 'refusal', refusal: 'No.' },
    ])
  })

  it('carries logprobs, those of an empty text too', () => {
    const logprob = (token: string) => ({ token, logprob: -0.5, bytes: undefined, top: [] })
    const told = { token: 'ä', logprob: -0.5, bytes: [], top_logprobs: [] }
    const stream = tellAll(
      openVoice(),
      [{ type: 'text-delta', text: '', logprobs: [logprob('ä')] }],
      [{ type: 'text-delta', text: 'ä', logprobs: [logprob('ä')] }],
      [text('!'), end('stop')],
    )
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventsOf(stream)[4]).toMatchObject({ delta: 'ä', logprobs: [told, told] })
    expect(finalOf(stream).output[0].content[0].logprobs).toEqual([told, told])
  })

  it('that says nothing at all is a whole answer without items', () => {
    const stream = tellAll(openVoice(), [{ type: 'message-start', phase: undefined }, text('')], [end('stop')])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(shortly(stream)).toEqual(['created', 'in_progress', 'completed'])
    expect(finalOf(stream).output).toEqual([])
  })
})

describe('a silence', () => {
  it('is broken by the opening, by the response again, and by empty deltas', () => {
    const voice = openVoice()
    const carrier = voice.translate(eventReader())
    const said = [voice.keepAlive(), voice.keepAlive()]
    said.push(carrier.read(frameOf(callStart(0))).bytes, voice.keepAlive())
    said.push(carrier.read(frameOf(callDelta(0, '{}'), callEnd(0))).bytes, voice.keepAlive())
    said.push(carrier.read(frameOf(text('Hi'))).bytes, voice.keepAlive())
    said.push(carrier.read(frameOf(end('tool-calls'))).bytes, voice.keepAlive())
    said.push(carrier.close(settledCharge()))
    const stream = said.join('')
    expect(checkResponsesStream(stream)).toEqual([])
    expect(shortly(stream)).toEqual([
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
    expect(voice.keepAlive()).toBeUndefined()
  })

  it('is not broken before the answer could be asked for by its id', () => {
    let stored = false
    const voice = openVoice({ others: { mayOpen: () => stored } })
    expect(voice.keepAlive()).toBeUndefined()
    stored = true
    expect(shortly(String(voice.keepAlive()))).toEqual(['created', 'in_progress'])
  })

  it('is not broken over the head of a first word that is made and still waits', () => {
    let stored = false
    const voice = openVoice({ others: { mayOpen: () => stored } })
    const carrier = voice.translate(eventReader())
    const waiting = carrier.read(frameOf(text('x'))).bytes
    expect(voice.keepAlive()).toBeUndefined()
    stored = true
    const bytes = Buffer.concat([waiting!, voice.keepAlive()!])
    expect(eventsOf(String(bytes)).map(({ sequence_number }) => sequence_number)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('is not broken for a client that wants JSON', () => {
    expect(openVoice({ delivery: 'json' }).keepAlive()).toBeUndefined()
  })
})

describe('a response that could not be stored', () => {
  it('says so where it is told at once, and only there', () => {
    const turn = requestWith({}, { delivery: 'json', store: true })
    const voice = openVoice({ others: { turn } })
    const carrier = voice.translate(eventReader())
    carrier.read(frameOf(text('x'), end('stop')))
    expect(JSON.parse(String(carrier.close(settledCharge())))).toMatchObject({ store: true, status: 'completed' })
    voice.tellUnstored()
    expect(JSON.parse(String(carrier.close(settledCharge())))).toMatchObject({ store: false, status: 'completed' })
  })
})

describe('a failure', () => {
  it('of which nothing could be told yet begins at the beginning, without what was made meanwhile', () => {
    const voice = openVoice({ others: { mayOpen: () => false } })
    const carrier = voice.translate(eventReader())
    carrier.read(frameOf(text('x')))
    const bytes = voice.fail(problem('server_is_overloaded', 'No room.'))
    expect(checkResponsesStream(String(bytes))).toEqual([])
    expect(voice.response()).toMatchObject({ status: 'failed', output: [] })
  })

  const broke = problem('upstream_error', 'It broke.', { source: 'upstream' })

  it('is told twice, with the items so far, and nothing follows', () => {
    const voice = openVoice()
    const carrier = voice.translate(eventReader())
    const before = carrier.read(frameOf(text('Hel'), callStart(0), callDelta(0, '{"a'), callStart(1))).bytes
    const stream = `${before}${voice.fail(broke)}`
    expect(checkResponsesStream(stream)).toEqual([])
    expect(eventsOf(stream).at(-2)).toMatchObject({
      type: 'error',
      code: 'upstream_error',
      message: 'It broke.',
      param: null,
      error: {
        message: 'It broke.',
        type: 'service_unavailable_error',
        param: null,
        code: 'upstream_error',
        source: 'upstream',
        request_id: 'req_1',
      },
    })
    const { output, error, usage } = finalOf(stream)
    expect(output).toMatchObject([{ status: 'completed' }, { status: 'incomplete', arguments: '{"a' }])
    expect({ error, usage }).toEqual({ error: { code: 'upstream_error', message: 'It broke.' }, usage: null })
    expect(voice.response()).toEqual(finalOf(stream))
    expect(voice.keepAlive()).toBeUndefined()
  })

  it('opens the response first where nothing has been said', () => {
    const stream = String(openVoice().fail(broke))
    expect(checkResponsesStream(stream)).toEqual([])
    expect(shortly(stream)).toEqual(['created', 'in_progress', 'error', 'failed'])
  })
})

describe('an end', () => {
  it('may be written once to be kept and once to be sent', () => {
    const voice = openVoice()
    const carrier = voice.translate(eventReader())
    const said = String(carrier.read(frameOf(text('Hi'), end('stop'))).bytes)
    const kept = String(carrier.close(settledCharge()))
    expect(String(carrier.close(settledCharge()))).toBe(kept)
    const failed = String(voice.fail(problem('ledger_unavailable', 'Not now.')))
    expect(String(voice.fail(problem('ledger_unavailable', 'Not now.')))).toBe(failed)
    expect(checkResponsesStream(said + kept)).toEqual([])
    expect(checkResponsesStream(said + failed)).toEqual([])
  })

  it('of an answer without content is the same each time too', () => {
    const voice = openVoice({ fields: { include: ['reasoning.encrypted_content'] } })
    const carrier = voice.translate(eventReader())
    expect(carrier.read(frameOf(seal('gAAA'), end('stop'))).bytes).toBeUndefined()
    const kept = String(carrier.close(settledCharge()))
    expect(String(carrier.close(settledCharge()))).toBe(kept)
    expect(checkResponsesStream(kept)).toEqual([])
    expect(finalOf(kept).output).toMatchObject([{ encrypted_content: 'sealed responses lane gAAA' }])
  })

  it('has nothing behind it but counts', () => {
    const stream = tellAll(openVoice(), [text('Hi'), end('stop')], [text(' again'), callStart(0)])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([{ content: [{ text: 'Hi' }] }])
  })

  it('is no end before the reader has told why', () => {
    const carrier = openVoice().translate(eventReader())
    carrier.read(frameOf(text('Hi')))
    expect(() => carrier.close(settledCharge())).toThrow('before its reader has told its end')
  })
})

describe('a translated reply', () => {
  it('is the whole response at once, and the same that a stream ends with', () => {
    const events = [reasoning('Hm'), text('Hello'), callStart(0), callDelta(0, '{}'), callEnd(0), end('tool-calls')]
    const voice = openVoice({ delivery: 'json' })
    const carrier = voice.translate(eventReader())
    expect(carrier.read(frameOf(...events))).toEqual({ bytes: undefined, isContent: false })
    expect(carrier.heard.heldBytes).toBe(carrier.heard.outputBytes)
    const body = JSON.parse(String(carrier.close(settledCharge())))
    expect(body).toEqual(finalOf(tellAll(openVoice(), events)))
    expect(voice.response()).toEqual(body)
  })

  it('that was cut ends with an incomplete item', () => {
    const body = tellAll(openVoice({ delivery: 'json' }), [reasoning('Hm'), text('Hel'), end('length')])
    expect(JSON.parse(body)).toMatchObject({ status: 'incomplete', output: [{}, { status: 'incomplete' }] })
  })
})
