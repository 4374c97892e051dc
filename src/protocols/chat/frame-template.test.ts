import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodedBytes } from '../../../test/fixtures/protocols/encoded-bytes.ts'
import type { Fields } from '../../lib/types.ts'
import { FrameSplitter } from '../sse/frames.ts'
import { chatDialect } from './dialects.ts'
import { learnTemplate } from './frame-template.ts'
import { ChatTap } from './tap.ts'

const HOSTILE_TEXTS = [
  ...['', ' ', 'x', 'a longer piece of text', '漢字 🦜', '\u0000\n\t"\\/', '\ud800', '\u2028', '"content":"x"'],
  ...['"model":"lane"', 'data: [DONE]\n\n', 'slot 0', 'slot 1', '{"error":"no"}', '\u007f', '$&$1'],
  ...['é', 'ÿþ', 'Ã©', 'naïve café'],
]
const texts = fc.oneof({ weight: 3, arbitrary: fc.string({ maxLength: 12 }) }, fc.constantFrom(...HOSTILE_TEXTS))
/** What some servers escape and others do not. */
const escaped = (text: string) =>
  text.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

type Json = Record<string, unknown>

/** Deltas as servers send them, by turns; each kind is used many times in a row. */
const DELTAS: readonly ((text: string, at: number) => Json)[] = [
  (content) => ({ content }),
  (content) => ({ role: 'assistant', content }),
  (reasoning_content) => ({ content: null, reasoning_content }),
  (reasoning_content) => ({ content: '', reasoning_content }),
  (reasoning) => ({ reasoning, reasoning_details: [{ type: 'reasoning.text', text: reasoning }] }),
  (reasoning) => ({ reasoning, reasoning_details: [{ type: 'reasoning.text', summary: 'fixed' }] }),
  (reasoning) => ({ reasoning, reasoning_content: reasoning }),
  (refusal) => ({ refusal }),
  (written) => ({ tool_calls: [{ index: 0, function: { arguments: written } }] }),
  (written) => ({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: written } }] }),
  (written) => ({ tool_calls: [{ index: 0, id: 'b', function: { name: '', arguments: written } }] }),
  (input) => ({ tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'n', input } }] }),
  (written) => ({ function_call: { name: 'f', arguments: written } }),
  (content) => ({ content: [{ type: 'text', text: content }] }),
  (content, at) => ({ content, n: at % 3 }),
  (content) => ({ other: { content }, content: 'fixed' }),
  (content) => ({ 'cont\\u0065nt': content, content }),
]

const styleArb = fc.record({
  end: fc.constantFrom('\n\n', '\n\n', '\r\n\r\n'),
  spelling: fc.constantFrom('plain', 'plain', 'plain', 'spaced', 'escaped', 'latin1', 'raw'),
  modelStands: fc.constantFrom('before the text', 'before the text', 'behind the text'),
})
const frameArb = fc.record({
  text: texts,
  oddity: fc.oneof(
    { weight: 40, arbitrary: fc.constant('none') },
    fc.constantFrom(
      'comment',
      'usage',
      'error',
      'finish',
      'failed',
      'done',
      'two-lines',
      'no-choices',
      'name',
      'created',
    ),
    fc.constantFrom('twice', 'two-choices', 'index', 'no-id', 'event', 'garbage', 'groq', 'null-calls', 'model-twice'),
  ),
})
type Style = Parameters<Parameters<typeof styleArb.map>[0]>[0]
type Drawn = Parameters<Parameters<typeof frameArb.map>[0]>[0]

function chunkOf(delta: Json, { oddity }: Drawn, over: Json): Json {
  const finish = oddity === 'finish' ? 'stop' : oddity === 'failed' ? 'error' : null
  const choice = { index: oddity === 'index' ? 1 : 0, delta, finish_reason: finish }
  const chunk: Json = {
    id: oddity === 'no-id' ? '' : 'c1',
    object: 'chat.completion.chunk',
    created: oddity === 'created' ? 2 : 1,
    model: oddity === 'name' ? 'other' : 'lane',
    choices: oddity === 'no-choices' ? [] : oddity === 'two-choices' ? [choice, { ...choice, index: 1 }] : [choice],
    ...over,
  }
  if (oddity === 'usage') chunk.usage = { prompt_tokens: 3, completion_tokens: 4 }
  if (oddity === 'groq') chunk.x_groq = { usage: { prompt_tokens: 1, completion_tokens: 1 } }
  if (oddity === 'error') chunk.error = { message: 'boom' }
  if (oddity === 'null-calls') Object.assign(delta, { tool_calls: null })
  return chunk
}

function bytesOf(chunk: Json, { end, spelling, modelStands }: Style, { oddity }: Drawn, at: number): Buffer {
  const newline = end === '\n\n' ? '\n' : '\r\n'
  if (oddity === 'comment') return Buffer.from(`: ping${end}`)
  if (oddity === 'done') return Buffer.from(`data: [DONE]${end}`)
  if (oddity === 'garbage') return Buffer.from(`data: {"choices"${end}`)
  const { model, ...others } = chunk
  let json = JSON.stringify(modelStands === 'behind the text' ? { ...others, model } : chunk).replaceAll(
    '\\\\u0065',
    '\\u0065',
  )
  if (spelling === 'spaced') json = json.replaceAll('":', '": ')
  if (spelling === 'escaped') json = escaped(json)
  if (oddity === 'twice') json = json.replace('"content":', '"content":"first","content":')
  if (oddity === 'model-twice') json = json.replace('"model":', '"model":"lane","model":')
  if (oddity === 'two-lines') json = json.replace('"choices"', `${newline}data: "choices"`)
  const event = oddity === 'event' ? `event: "content":"x${newline}` : ''
  const text = `${event}data: ${json}${end}`
  if (spelling === 'raw') return Buffer.from(at % 4 === 3 ? text.replace('"content":"', '"content":"\u0007') : text)
  return spelling === 'latin1' ? Buffer.from(text, 'latin1') : Buffer.from(text)
}

const OVERS: readonly ((text: string) => Json)[] = [
  () => ({}),
  () => ({ usage: null, system_fingerprint: 'fp' }),
  (text) => ({ obfuscation: text }),
  () => ({ logprobs: { content: 'x' } }),
]

/** A stream, as runs of frames of one kind, with an oddity here and there. */
const streamArb = fc
  .array(
    fc.record({
      delta: fc.nat(DELTAS.length - 1),
      over: fc.nat(OVERS.length - 1),
      style: styleArb,
      frames: fc.array(frameArb, { minLength: 1, maxLength: 15 }),
    }),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((runs) =>
    runs.flatMap(({ delta, over, style, frames }) =>
      frames.map((drawn, at) => {
        const chunk = chunkOf(DELTAS[delta]!(drawn.text, at), drawn, OVERS[over]!(drawn.text))
        return bytesOf(chunk, style, drawn, at)
      }),
    ),
  )

const tapOf = (publicModel: string) => {
  let calls = 0
  const mint = { completionId: () => 'minted', callId: () => `call_${calls++}` }
  return new ChatTap({
    publicModel,
    dialect: chatDialect('generic'),
    mint,
    request: { model: 'm', choices: 1, functionForm: false, wantsUsage: false },
    now: () => 1000,
  })
}

/** Reads a stream as the relay does, with or without templates, and records everything observable. */
function readStream(pieces: readonly Buffer[], publicModel: string, withTemplates: boolean) {
  const splitter = new FrameSplitter({ frameBytesMax: 1024 * 1024 })
  const tap = tapOf(publicModel)
  const seen: unknown[] = []
  let templatedFrames = 0
  for (const piece of pieces) {
    splitter.push(piece)
    const out: Buffer[] = []
    let isContent = false
    for (;;) {
      if (tap.state.done || tap.state.invalid !== undefined || tap.state.error) break
      let tapped = withTemplates ? tap.readRepeated(splitter) : undefined
      if (tapped) templatedFrames += String(tapped.bytes).split('data: ').length - 1
      else {
        const frame = splitter.next()
        if (!frame) break
        tapped = tap.read(frame)
      }
      out.push(encodedBytes(tapped.bytes))
      isContent ||= tapped.isContent
    }
    seen.push({ bytes: Buffer.concat(out).toString('latin1'), isContent, state: structuredClone(tap.state) })
  }
  return { seen, rest: String(splitter.takeRest()), templatedFrames }
}

const cutAt = (whole: Buffer, places: readonly number[]): Buffer[] => {
  const ends = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b)
  return [0, ...ends].map((start, index) => whole.subarray(start, ends[index] ?? whole.length))
}

describe('frames that match a template', () => {
  it('are relayed and counted exactly like parsed ones', () => {
    const seed = 20261
    const tally = { streams: 0, frames: 0, templated: 0, streamsWithTemplates: 0 }
    fc.assert(
      fc.property(
        streamArb,
        fc.array(fc.nat(20_000), { maxLength: 6 }),
        fc.constantFrom('lane', 'public', 'pub$&lic "ä'),
        (frames, places, publicModel) => {
          const pieces = cutAt(Buffer.concat(frames), places)
          const parsed = readStream(pieces, publicModel, false)
          const { templatedFrames, ...templated } = readStream(pieces, publicModel, true)
          expect(templated).toEqual({ seen: parsed.seen, rest: parsed.rest })
          tally.streams++
          tally.frames += frames.length
          tally.templated += templatedFrames
          if (templatedFrames > 0) tally.streamsWithTemplates++
        },
      ),
      { seed, numRuns: 1500 },
    )
    console.info(`frame templates: seed ${seed}, ${JSON.stringify(tally)}`)
    expect(tally.templated).toBeGreaterThan(tally.frames / 20)
  })

  it('are all but the first ones of a plain stream, relayed as one piece with the bytes as received', () => {
    const frame = (content: string) =>
      `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"lane","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]}\n\n`
    const splitter = new FrameSplitter({ frameBytesMax: 1000 })
    const tap = tapOf('lane')
    tap.read(Buffer.from(frame('').replace('"content"', '"role":"assistant","content"')))
    tap.read(Buffer.from(frame('a')))
    tap.read(Buffer.from(frame('b')))
    const read = Buffer.from(['é"', '\\', '', '漢'].map(frame).join(''))
    splitter.push(read)
    const tapped = tap.readRepeated(splitter)
    expect(tapped?.bytes).toBe(read)
    expect(tapped?.isContent).toBe(true)
    expect(tap.state.outputBytes).toBe(2 + 3 + 1 + 3)
  })
})

describe('a frame that matches no template', () => {
  it('clears the template, because it may change what the next frame means', () => {
    const frame = (call: Json) =>
      Buffer.from(
        `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'lane', choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [call] }, finish_reason: null }] })}\n\n`,
      )
    const begins = (id: string) => frame({ index: 0, id, type: 'function', function: { name: 'f', arguments: '' } })
    const goesOn = frame({ index: 0, function: { arguments: ' ' } })
    const splitter = new FrameSplitter({ frameBytesMax: 1000 })
    const tap = tapOf('lane')
    tap.read(begins('a'))
    tap.read(goesOn)
    splitter.push(Buffer.concat([goesOn, begins('b'), goesOn]))
    expect(tap.readRepeated(splitter)?.bytes).toEqual(goesOn)
    tap.read(splitter.next()!)
    expect(tap.readRepeated(splitter)).toBeUndefined()
    // The second call came under the index of the first: it has one of its own now, and so has what belongs to it.
    expect(String(tap.read(splitter.next()!).bytes)).toContain('"index":1')
  })
})

describe('a frame template', () => {
  const frame = (delta: Fields, over: Fields = {}) => {
    const chunk = { id: 'c', choices: [{ index: 0, delta, finish_reason: null }], ...over }
    return { chunk, bytes: Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`) }
  }
  const matches = (learned: ReturnType<typeof frame>, next: ReturnType<typeof frame>) =>
    (learnTemplate(learned.bytes, learned.chunk, 1)?.match(next.bytes, 0, next.bytes.length) ?? -1) !== -1

  it('is not learned where the varying strings are not text', () => {
    expect(matches(frame({ content: 'a' }), frame({ content: 'b' }))).toBe(true)
    expect(matches(frame({ content: 'a', x: { content: 'a' } }), frame({ content: 'b', x: { content: 'a' } }))).toBe(
      false,
    )
    expect(matches(frame({ content: 'slot 0' }), frame({ content: 'b' }))).toBe(false)
  })

  it('does not match a part of a frame, or one that continues differently', () => {
    const { bytes, chunk } = frame({ content: 'a' })
    const template = learnTemplate(bytes, chunk, 1)
    for (let length = 0; length < bytes.length; length++) expect(template?.match(bytes, 0, length)).toBe(-1)
    expect(template?.match(bytes, 0, bytes.length)).toBe(bytes.length)
    expect(template?.match(frame({ content: 'a' }, { usage: { prompt_tokens: 1 } }).bytes, 0, 1000)).toBe(-1)
  })

  it('counts text that is the same in every frame and text that varies', () => {
    const goesOn = (content: string) => frame({ content, reasoning_text: 'look' })
    const { bytes, chunk } = goesOn('a')
    const template = learnTemplate(bytes, chunk, 'a'.length + 'look'.length)
    expect(template?.match(goesOn('some').bytes, 0, 1000)).not.toBe(-1)
    expect(template?.textBytes).toBe('some'.length + 'look'.length)
  })
})
