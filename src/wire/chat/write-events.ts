import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import type { CallStart, TokenLogprob, TurnEvent } from '../../model/event.ts'
import { BREAK } from '../joined-words.ts'
import { latin1OfText } from '../json/strings.ts'
import type { WordsRun } from '../sse/alike-words.ts'
import { FINISH_REASONS } from './finish-reason.ts'
import { writeLogprobs } from './write-logprobs.ts'

/** Writes an answer as the chunks of a chat stream. */
interface ChatEventWriter {
  /** What these events give the client, as whole frames; undefined for nothing. */
  write(events: readonly TurnEvent[]): Buffer | undefined
  /** The last events were one piece of words, which became one frame: more of the same can follow. */
  readonly canGoOn: boolean
  goOn(run: WordsRun): Buffer
}

/** What is the same in every chunk of one answer. */
export interface ChunkStamp {
  readonly id: string
  readonly created: number
  readonly model: string
}

export function createEventWriter(stamp: ChunkStamp): ChatEventWriter {
  const writing: Writing = {
    head: { id: stamp.id, object: 'chat.completion.chunk', created: stamp.created, model: stamp.model },
    frames: '',
    begun: false,
    open: undefined,
    item: 0,
    saidIn: new Map(),
    calls: new Map(),
    lastWords: undefined,
  }
  const writer = {
    canGoOn: false,
    write(events: readonly TurnEvent[]) {
      around = undefined
      writing.lastWords = undefined
      for (const event of events) writeEvent(writing, event)
      writer.canGoOn = events.length === 1 && writing.lastWords !== undefined
      if (writing.frames === '') return undefined
      const bytes = Buffer.from(writing.frames)
      writing.frames = ''
      return bytes
    },
    goOn({ pieces }: WordsRun) {
      around ??= aroundWords(writing)
      const { before, behind } = around
      return Buffer.from(before + pieces.join(behind + before) + behind, 'latin1')
    },
  }
  let around: AroundWords | undefined
  return writer
}

/** What is being said: words of another kind, or of another item of the same, begin anew. */
type Open = 'message' | 'reasoning' | 'summary' | undefined
type Slot = 'content' | 'refusal' | 'reasoning_content'

interface Writing {
  readonly head: Fields
  frames: string
  begun: boolean
  open: Open
  /** Counts what chat puts into one: messages, reasonings, parts of a summary. */
  item: number
  /** Where the last words in a slot came from: those of another item are kept apart from them. */
  readonly saidIn: Map<Slot, number>
  /** The index of each call among calls, and how its text is called. */
  readonly calls: Map<number, { readonly index: number; readonly custom: boolean }>
  /** The last frame's delta without its words, where these stand as they came and nothing is beside them. */
  lastWords: Fields | undefined
}

function writeEvent(writing: Writing, event: TurnEvent): void {
  switch (event.type) {
    case 'message-start':
    case 'reasoning-start':
    case 'summary-start':
      writing.open = undefined
      return
    case 'text-delta':
      say(writing, { open: 'message', slot: 'content', text: event.text, logprobs: event.logprobs })
      return
    case 'refusal-delta':
      say(writing, { open: 'message', slot: 'refusal', text: event.text })
      return
    case 'reasoning-delta':
      say(writing, { open: 'reasoning', slot: 'reasoning_content', text: event.text })
      return
    case 'summary-delta':
      say(writing, { open: 'summary', slot: 'reasoning_content', text: event.text })
      return
    case 'tool-call-start':
      beginCall(writing, event)
      return
    case 'tool-call-delta':
      goOnWithCall(writing, event.call, event.text)
      return
    case 'turn-end':
      begin(writing, '')
      put(writing, {}, null, FINISH_REASONS[event.reason])
      return
    case 'reasoning-seal':
    case 'tool-call-end':
    case 'usage':
      return
    default:
      assertNever(event)
  }
}

interface Words {
  readonly open: Exclude<Open, undefined>
  readonly slot: Slot
  readonly text: string
  readonly logprobs?: readonly TokenLogprob[] | undefined
}

function say(writing: Writing, { open, slot, text, logprobs = [] }: Words): void {
  if (text === '' && logprobs.length === 0) return
  begin(writing, '')
  if (writing.open !== open) writing.item++
  writing.open = open
  const isApart = (writing.saidIn.get(slot) ?? writing.item) !== writing.item
  writing.saidIn.set(slot, writing.item)
  put(writing, { [slot]: isApart ? BREAK + text : text }, writeLogprobs(logprobs))
  if (logprobs.length === 0) writing.lastWords = { [slot]: '' }
}

function beginCall(writing: Writing, event: CallStart): void {
  begin(writing, null)
  writing.open = undefined
  const index = writing.calls.size
  const custom = event.tool === 'custom'
  writing.calls.set(event.call, { index, custom })
  const said = custom ? { name: event.name, input: '' } : { name: event.name, arguments: '' }
  put(writing, { tool_calls: [{ index, id: event.callId, type: event.tool, [event.tool]: said }] })
}

function goOnWithCall(writing: Writing, number: number, text: string): void {
  const call = writing.calls.get(number)
  if (!call || text === '') return
  put(writing, moreOfCall(call, text))
  writing.lastWords = moreOfCall(call, '')
}

function moreOfCall({ index, custom }: { readonly index: number; readonly custom: boolean }, text: string): Fields {
  const said = custom ? { custom: { input: text } } : { function: { arguments: text } }
  return { tool_calls: [{ index, ...said }] }
}

/** The role is said once, before anything else; what there will be of content shows in what stands for it here. */
function begin(writing: Writing, content: '' | null): void {
  if (writing.begun) return
  writing.begun = true
  put(writing, { role: 'assistant', content, refusal: null })
}

function put(writing: Writing, delta: Fields, logprobs: Fields | null = null, finish: string | null = null): void {
  writing.frames += frameOf(writing, delta, logprobs, finish)
}

function frameOf({ head }: Writing, delta: Fields, logprobs: Fields | null, finish: string | null): string {
  const choice = { index: 0, delta, logprobs, finish_reason: finish }
  return `data: ${JSON.stringify({ ...head, choices: [choice], usage: null })}\n\n`
}

/** The bytes of a frame around its words, as a character for each. */
interface AroundWords {
  readonly before: string
  readonly behind: string
}

function aroundWords(writing: Writing): AroundWords {
  const frame = latin1OfText(frameOf(writing, writing.lastWords ?? {}, null, null))
  // Nothing behind the words is an empty string.
  const at = frame.lastIndexOf('""') + 1
  return { before: frame.slice(0, at), behind: frame.slice(at) }
}
