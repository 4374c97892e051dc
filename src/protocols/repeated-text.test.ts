import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodedBytes } from '../../test/fixtures/protocols/encoded-bytes.ts'
import { openEncoder } from '../../test/fixtures/protocols/responses/encoder.ts'
import { framesOf, type Piece } from '../../test/fuzz/streams/answer-frames.ts'
import { playEncoder } from '../../test/fuzz/streams/play-encoder.ts'
import { chatEncoder, readerOf } from '../../test/fuzz/streams/play-stream.ts'
import type { Protocol } from '../model/turn.ts'
import type { LaneWire } from '../model/wire.ts'
import type { ClientEncoder, StreamAdapter } from './shared/codec-types.ts'
import { FrameSplitter } from './sse/frames.ts'
import { RepeatedText } from './sse/repeated-text.ts'
import { readAnswerTool } from './tools/restore-tools.ts'

type Json = Readonly<Record<string, unknown>>

const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', ' the', 'Longer words. ', '') },
  fc.constantFrom('漢字 🦜', 'naïve\n', '"\\', '{"a":', '\u2028', '\n\ndata: [DONE]\n\n', '"content":"x"', '\u0007'),
)
const piece: fc.Arbitrary<Piece> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('text'), words: fc.array(word, { maxLength: 12 }) }) },
  fc.record({ kind: fc.constantFrom('thought', 'refusal'), words: fc.array(word, { minLength: 1, maxLength: 4 }) }),
  fc.record({ kind: fc.constant('call'), name: fc.constant('look'), words: fc.constant(['{"a":', '1}']) }),
)
const oddity = fc.option(
  fc.constantFrom('usage', 'logprobs', 'unknown', 'comment', 'twice', 'other-index', 'latin1', 'raw', 'no-number'),
  { freq: 6, nil: undefined },
)
const streams = fc.record({
  wire: fc.constantFrom<LaneWire>('chat', 'responses', 'anthropic', 'gemini'),
  client: fc.constantFrom<Protocol>('chat', 'responses'),
  relays: fc.boolean(),
  pieces: fc.array(piece, { minLength: 1, maxLength: 4 }),
  oddities: fc.array(oddity, { minLength: 3, maxLength: 20 }),
  style: fc.constantFrom('plain', 'spaced', 'CRLF', 'padded', 'counted'),
  cuts: fc.array(fc.nat(4000), { maxLength: 12 }),
  breaksOff: fc.boolean(),
})
type Stream = typeof streams extends fc.Arbitrary<infer Drawn> ? Drawn : never

const COUNTS = { input: 9, cached: 2, output: 5, thought: 1 }

function bytesOf({ wire, pieces, oddities, style }: Stream): Buffer {
  const frames = framesOf(wire, { pieces, end: 'stop', counts: COUNTS })
  return Buffer.concat(
    frames.map(({ name, emitted }, at) => {
      if (typeof emitted === 'string') return Buffer.from(`data: ${emitted}\n\n`)
      const odd = oddities[at % oddities.length]
      const number = wire === 'responses' && odd !== 'no-number' ? { sequence_number: at } : {}
      const padding = style === 'padded' ? { obfuscation: 'x'.repeat(at % 5) } : {}
      const counts = style === 'counted' ? OVERS.usage!(0) : {}
      const value = { ...(emitted as Json), ...number, ...padding, ...counts, ...OVERS[odd ?? '']?.(at) }
      let json = JSON.stringify(value)
      if (style === 'spaced') json = json.replaceAll('":', '": ')
      if (odd === 'twice') json = json.replace(/"(content|text|delta)":"/, '"$1":"first","$1":"')
      if (odd === 'raw') json = json.replace(/"(content|text|delta)":"/, '"$1":"\u0007')
      if (odd === 'other-index') json = json.replace(/"(output_)?index":0/, '"$1index":1')
      const text = `${odd === 'comment' ? ': ping\n\n' : ''}${name ? `event: ${name}\n` : ''}data: ${json}\n\n`
      return Buffer.from(style === 'CRLF' ? text.replaceAll('\n', '\r\n') : text, odd === 'latin1' ? 'latin1' : 'utf8')
    }),
  )
}

const OVERS: Readonly<Record<string, (at: number) => Json>> = {
  usage: (at) => ({ usage: { prompt_tokens: 3, completion_tokens: 1 + (at % 2) } }),
  logprobs: () => ({ logprobs: [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }] }),
  unknown: (at) => ({ unknown: at % 3 }),
}

function openAdapter({ wire, client, relays }: Stream): { encoder: ClientEncoder; adapter: StreamAdapter } {
  const encoder = client === 'chat' ? chatEncoder('stream') : openEncoder()
  const adapter =
    'responseId' in encoder && relays && wire === 'responses'
      ? encoder.relay({ origin: 'lane' })
      : encoder.translate(readerOf(wire))
  return { encoder, adapter }
}

const cutAt = (whole: Buffer, places: readonly number[]): Buffer[] => {
  const ends = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b)
  return [0, ...ends].map((start, index) => whole.subarray(start, ends[index] ?? whole.length))
}

describe('texts that are read without parsing their frames', () => {
  it('reach the client and are counted exactly like parsed ones', { timeout: 120_000 }, () => {
    const seed = 20_274
    const tally: Record<string, number> = { streams: 0 }
    fc.assert(
      fc.property(streams, (stream) => {
        const pieces = cutAt(bytesOf(stream), stream.cuts).slice(0, stream.breaksOff ? -1 : undefined)
        const [fast, slow] = [openAdapter(stream), openAdapter(stream)]
        const path = `${stream.wire} to ${stream.client}`
        const counting: StreamAdapter = {
          ...fast.adapter,
          readRepeated(frames) {
            const encoded = fast.adapter.readRepeated?.(frames)
            if (encoded !== undefined) tally[path] = (tally[path] ?? 0) + 1
            return encoded
          },
        }
        const played = playEncoder(fast.encoder, counting, pieces, 3)
        const parsed = playEncoder(slow.encoder, { ...slow.adapter, readRepeated: undefined }, pieces, 3)
        expect(String(played.emitted)).toBe(String(parsed.emitted))
        expect(played.end).toBe(parsed.end)
        expect(fast.adapter.state).toEqual(slow.adapter.state)
        tally.streams! += 1
      }),
      { seed, numRuns: 3000 },
    )
    console.info(`repeated texts: seed ${seed}, ${JSON.stringify(tally)}`)
    for (const wire of ['chat', 'responses', 'anthropic'])
      for (const client of ['chat', 'responses'])
        expect(tally[`${wire} to ${client}`], `${wire} to ${client}`).toBeGreaterThan(30)
  })

  it('keep the frames that the provider has sent', () => {
    const encoder = openEncoder()
    const adapter = encoder.relay({ origin: 'lane' })
    const delta = (number: number, text: string) =>
      `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":${number},"item_id":"m","output_index":0,"content_index":0,"delta":${JSON.stringify(text)},"logprobs":[],"obfuscation":"${'x'.repeat(number)}"}\n\n`
    adapter.read(Buffer.from(delta(2, 'a')))
    adapter.read(Buffer.from(delta(3, 'a')))
    const splitter = new FrameSplitter({ frameBytesMax: 1000 })
    splitter.push(Buffer.from(delta(4, 'é"') + delta(5, '漢') + delta(6, '')))
    const { bytes } = adapter.readRepeated!(splitter)!
    expect(String(encodedBytes(bytes)).match(/"delta":"[^ ]*?","logprobs"/g)).toEqual([
      '"delta":"é\\"","logprobs"',
      '"delta":"漢","logprobs"',
    ])
    // Empty text is no content, and is parsed.
    expect(splitter.next()).toBeDefined()
    expect(adapter.state).toMatchObject({ outputBytes: 2 + 3 + 3, contentFrames: 4 })
  })

  it('are not taken from the whole text that ends a part: the next one has to agree with it', () => {
    const adapter = openEncoder().relay({ origin: 'lane' })
    const event = (type: string, fields: Json) =>
      Buffer.from(`data: ${JSON.stringify({ type, item_id: 'm', output_index: 0, content_index: 0, ...fields })}\n\n`)
    const done = (text: string) => event('response.output_text.done', { text })
    adapter.read(event('response.content_part.added', { part: { type: 'output_text', text: '' } }))
    adapter.read(done('a'))
    const splitter = new FrameSplitter({ frameBytesMax: 1000 })
    splitter.push(done('b'))
    expect(adapter.readRepeated!(splitter)).toBeUndefined()
    adapter.read(splitter.next()!)
    expect(adapter.state.invalid).toMatch('does not match')
  })

  it('are not taken behind a chat frame that had more than a text, whether its client sees it or not', () => {
    const reader = readerOf('chat')
    const isRepeatable = (delta: Json) => {
      reader.read(Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`))
      return reader.repeatText !== undefined
    }
    expect(isRepeatable({ content: 'a' })).toBe(true)
    expect(isRepeatable({ content: 'a', tool_calls: [{ index: 0, function: { arguments: '{' } }] })).toBe(false)
    expect(isRepeatable({ content: 'a', reasoning_details: [{ type: 'reasoning.encrypted', data: 'sealed' }] })).toBe(
      false,
    )
    expect(isRepeatable({ content: 'a', reasoning_content: 'hm' })).toBe(false)
    expect(isRepeatable({})).toBe(false)
  })

  it('are not taken behind the start of an Anthropic block, and leave what a layer above has added', () => {
    const reader = readerOf('anthropic')
    const read = (frame: Json) => reader.read(Buffer.from(`data: ${JSON.stringify(frame)}\n\n`))
    read({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'a' } })
    expect(reader.repeatText).toBeUndefined()
    read({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'b' } })
    reader.state.outputBytes += 2
    reader.repeatText?.('c')
    expect(reader.state.outputBytes).toBe(1 + 1 + 2 + 1)
  })

  it('are not taken from a tool whose input is the answer: its arguments have to be JSON', () => {
    expect(readAnswerTool(readerOf('chat'), 'answer').repeatText).toBeUndefined()
  })
})

describe('a repeated text', () => {
  const frame = (members: string) => Buffer.from(`data: {${members}}\n\n`)
  const take = (learned: Buffer, text: string, ...next: Buffer[]) => {
    const repeated = new RepeatedText()
    repeated.learn(learned, text)
    const splitter = new FrameSplitter({ frameBytesMax: 1000 })
    splitter.push(Buffer.concat(next))
    return repeated.take(splitter)
  }

  it('is found where the parsed frame had its text', () => {
    const next = frame('"content":"b","n":1')
    expect(take(frame('"content":"a","n":1'), 'a', next, next)).toEqual(['b', 'b'])
    expect(take(frame('"content":"a","n":1'), 'a', frame('"content":"b","n":2'))).toEqual([])
    expect(take(frame('"content":"a","n":1'), 'a', next.subarray(0, -1))).toEqual([])
  })

  it('is not looked for where the frame has another text, or two', () => {
    expect(take(frame('"content":"a"'), 'x', frame('"content":"b"'))).toEqual([])
    expect(take(frame('"content":"a","text":"a"'), 'a', frame('"content":"b","text":"a"'))).toEqual([])
  })

  it('is the one that the parser finds, beside decoys', () => {
    const decoys = [
      ['"text":"b","content":  "b"', '"text":"x","content":  "b"'],
      ['"c":{"content":"b"},"c":{"con\\u0074ent":"b"}', '"c":{"content":"x"},"c":{"con\\u0074ent":"b"}'],
    ] as const
    for (const [learned, next] of decoys) expect(take(frame(learned), 'b', frame(next)), learned).toEqual([])
    const comment = (text: string) => Buffer.from(`: "content":"${text}"\ndata: {"content":  "b"}\n\n`)
    expect(take(comment('b'), 'b', comment('x'))).toEqual([])
  })

  it('is not looked for in long frames, in frames beyond the bound, and in the same pieces twice', () => {
    const long = (text: string) => frame(`"content":"${text}","x":"${'y'.repeat(5000)}"`)
    expect(take(long('a'), 'a', long('b'))).toEqual([])
    const repeated = new RepeatedText()
    repeated.learn(frame('"content":"a"'), 'a')
    const bounded = new FrameSplitter({ frameBytesMax: 100 })
    bounded.push(frame(`"content":"${'b'.repeat(200)}"`))
    expect(repeated.take(bounded)).toEqual([])
    expect(() => bounded.next()).toThrow('over 100 bytes')
    const splitter = new FrameSplitter({ frameBytesMax: 1e6 })
    const tries = {
      count: 0,
      match() {
        tries.count += 1
        return -1
      },
    }
    for (let piece = 0; piece < 10; piece++) {
      splitter.push(Buffer.from('"content":"bbb'))
      splitter.takeMatching(tries)
      splitter.next()
    }
    expect(tries.count).toBe(1)
  })

  it('has to be valid, and so have the number and the padding', () => {
    const learned = frame('"sequence_number":1,"delta":"a","obfuscation":"x"')
    expect(take(learned, 'a', frame('"sequence_number":,"delta":"b","obfuscation":"x"'))).toEqual([])
    expect(take(learned, 'a', frame('"sequence_number":07,"delta":"b","obfuscation":"x"'))).toEqual([])
    expect(take(learned, 'a', frame('"sequence_number":2,"delta":"b","obfuscation":"\\q"'))).toEqual([])
    expect(take(learned, 'a', frame('"sequence_number":2,"delta":"\\q","obfuscation":"x"'))).toEqual([])
    expect(take(learned, 'a', frame('"sequence_number":2,"delta":"b","obfuscation":"\u0007"'))).toEqual([])
    expect(take(learned, 'a', frame('"sequence_number":12,"delta":"\\u00e9","obfuscation":""'))).toEqual(['é'])
  })
})
