import { type Fields, isObject } from '../../../src/lib/types.ts'
import { type Answer, Broken, checkedCalls, countIn, type Finish, fieldsOf, textOf } from './answer.ts'
import { checkNoError, type WireFrames } from './wire-frames.ts'

interface Block {
  readonly type: string
  readonly name: string
  /** What a block begins with that is told whole. */
  readonly input: unknown
  words: string
  isOver: boolean
}

interface Message {
  readonly blocks: Map<unknown, Block>
  readonly doubts: Set<string>
  text: string
  reasoning: string
  stop: string | undefined
}

const FINISHES: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  refusal: 'content-filter',
}

const WORDS_OF: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
}
const BLOCK_EVENTS = new Set(['content_block_start', 'content_block_delta', 'content_block_stop'])

/** What a client hears that reads a stream of Messages by the book. */
export function parseAnthropicStream({ frames, doubts }: WireFrames): Answer {
  const message: Message = { blocks: new Map(), doubts, text: '', reasoning: '', stop: undefined }
  let begun: Fields | undefined
  let ended: Fields | undefined
  for (const { name, emitted } of frames) {
    const type = textOf(emitted.type) || name
    if (emitted.type === 'error') throw new Broken('an error')
    if (emitted.type === undefined) checkNoError(emitted.error)
    if (type === 'error') doubts.add('an error that says nothing')
    if (type === 'message_start') {
      if (begun !== undefined) throw new Broken('a second beginning')
      begun = fieldsOf(fieldsOf(emitted.message).usage)
    } else if (type === 'message_delta') {
      message.stop ??= textOf(fieldsOf(emitted.delta).stop_reason) || undefined
      // Counts without those of the beginning are no sum.
      if (begun !== undefined) ended = fieldsOf(emitted.usage)
    } else if (type === 'message_stop') break
    else if (BLOCK_EVENTS.has(type)) parseBlock(message, type, emitted)
  }
  if (begun === undefined) doubts.add('no beginning')
  return { choices: [finished(message)], counts: begun && ended && countsOf(begun, ended) }
}

function parseBlock(message: Message, type: string, { index, content_block, delta }: Fields): void {
  const { blocks, doubts } = message
  const known = blocks.get(index)
  if (type === 'content_block_stop') {
    if (known !== undefined) known.isOver = true
    return
  }
  if (message.stop !== undefined) throw new Broken('words behind the end')
  if (type === 'content_block_start') {
    if (known !== undefined) throw new Broken('a block that begins twice')
    const block = fieldsOf(content_block)
    blocks.set(index, {
      type: textOf(block.type),
      name: textOf(block.name),
      input: block.input,
      words: '',
      isOver: false,
    })
    if (block.type === 'text') message.text += textOf(block.text)
    if (block.type === 'thinking') message.reasoning += textOf(block.thinking)
    return
  }
  const { type: kind, ...emitted } = fieldsOf(delta)
  const words = textOf(emitted[WORDS_OF[textOf(kind)] ?? ''])
  if (words === '') return
  if (known?.isOver) throw new Broken('words behind the end of their block')
  if (known === undefined) doubts.add('words of a block that has not begun')
  if (kind === 'text_delta') message.text += words
  else if (kind === 'thinking_delta') message.reasoning += words
  else if (known?.type === 'tool_use') known.words += words
  // The client gets nothing of other blocks: tools that the provider runs write JSON too.
  else if (known === undefined || ['', 'text', 'thinking'].includes(known.type))
    throw new Broken('arguments without a call')
}

function finished({ blocks, text, reasoning, stop }: Message) {
  if (stop === undefined) throw new Broken('no end')
  const calls = [...blocks.values()].filter(({ type }) => type === 'tool_use')
  const finish = FINISHES[stop] ?? 'stop'
  if (finish === 'tool-calls' && calls.length === 0) throw new Broken('an end for calls without a call')
  const word = finish === 'stop' && calls.length > 0 ? 'tool-calls' : finish
  const emitted = calls.map(({ name, input, words }) => ({
    tool: 'function' as const,
    name,
    words: words || inputOf(input),
  }))
  return { text, refusal: '', reasoning: [reasoning], calls: checkedCalls(emitted, word), finish: word }
}

const inputOf = (input: unknown): string =>
  isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : ''

function countsOf(begun: Fields, ended: Fields) {
  const cached = countIn(begun, 'cache_read_input_tokens')
  return {
    input: countIn(begun, 'input_tokens') + cached,
    cached,
    output: countIn(ended, 'output_tokens'),
    thought: countIn(fieldsOf(ended.output_tokens_details), 'thinking_tokens'),
  }
}
