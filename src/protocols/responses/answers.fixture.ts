import { readdirSync, readFileSync } from 'node:fs'
import type { Fields } from '../../lib/types.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { NanoUsd, PicoPerToken } from '../../model/money.ts'
import type { MintIds } from '../shared/event-reader.ts'
import { readData } from '../sse/frame-data.ts'
import { createFrameSplitter } from '../sse/split-frames.ts'
import { requestWith } from './encoder.fixture.ts'
import { createFraming, type Framing } from './item-frames.ts'

const FOLDER = new URL('./fixtures/', import.meta.url)

/** Every recorded-by-hand stream, by what it shows. */
export const FIXTURES: readonly string[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sse'))
  .map((name) => name.slice(0, -'.sse'.length))
  .sort()

export const bytesOf = (fixture: string): Buffer => readFileSync(new URL(`${fixture}.sse`, FOLDER))

/** What is expected of each of them. */
export const expectedOf = (fixture: string): { answer: unknown } => {
  const all = JSON.parse(readFileSync(new URL('expected.json', FOLDER), 'utf8')) as Record<string, unknown>
  return { answer: all[fixture] }
}

/** The frames, as the splitter gives them however the bytes were cut. */
export function framesIn(pieces: readonly Buffer[]): Buffer[] {
  const splitter = createFrameSplitter({ frameBytesMax: 1024 * 1024 })
  const frames: Buffer[] = []
  for (const piece of pieces) {
    splitter.push(piece)
    for (let frame = splitter.next(); frame; frame = splitter.next()) frames.push(frame)
  }
  return frames
}

export function mintInOrder(): MintIds {
  let minted = 0
  const next = (prefix: string) => `${prefix}_ours${++minted}`
  return {
    completionId: () => next('chatcmpl'),
    responseId: () => next('resp'),
    callId: () => next('call'),
    itemId: (prefix) => next(prefix),
  }
}

/** Of a request that asks for nothing special. */
export const plainFraming = (): Framing =>
  createFraming({
    request: requestWith({}),
    model: 'public',
    effort: undefined,
    responseId: 'resp_ours',
    createdAt: 1_800_000_000,
  })

export const SETTLED: SettledCharge = {
  usage: { uncachedInput: 3, cachedInput: 2, cacheWrite: 1, output: 5, reasoning: 4, estimated: false },
  charge: 1_500_000n as NanoUsd,
  tier: 0,
  price: {
    version: 7,
    perRequest: 0n as NanoUsd,
    tiers: [],
    input: 1n as PicoPerToken,
    cachedInput: 1n as PicoPerToken,
    cacheWrite: 1n as PicoPerToken,
    output: 1n as PicoPerToken,
  },
}

/** What a client sees, as parsed events; `[DONE]` is left out. */
export const eventsIn = (bytes: Buffer): Fields[] =>
  framesIn([bytes]).flatMap((frame) => {
    const data = readData(frame)?.toString()
    return data === undefined || data === '' || data === '[DONE]' ? [] : [JSON.parse(data) as Fields]
  })

/** An answer without ids and structure: the same for a stream, its events, and a JSON answer. */
export type PlainAnswer = readonly unknown[]

/** Items of a response, plainly. */
export const plainItems = (output: readonly Fields[]): PlainAnswer =>
  output.flatMap((item): unknown[] => {
    const texts = (parts: unknown) =>
      ((parts as Fields[] | undefined) ?? []).map((part) =>
        part.type === 'refusal' ? { refusal: part.refusal } : part.text,
      )
    switch (item.type) {
      case 'message': {
        const content = texts(item.content)
        return content.length === 0 ? [] : [{ message: content, ...(item.phase ? { phase: item.phase } : {}) }]
      }
      case 'reasoning': {
        const [summary, text] = [texts(item.summary), texts(item.content).join('')]
        return [{ reasoning: text, summary, seal: item.encrypted_content ?? null }]
      }
      case 'function_call':
        return [{ call: item.name, namespace: item.namespace ?? null, arguments: item.arguments }]
      default:
        return [{ call: item.name, namespace: item.namespace ?? null, input: item.input }]
    }
  })

/** The same of events. */
export function plainEvents(events: readonly TurnEvent[]): PlainAnswer {
  const items: Fields[] = []
  const last = () => items[items.length - 1]!
  const call = (at: number) => items.filter(({ type }) => String(type).endsWith('_call'))[at]!
  for (const event of events) {
    switch (event.type) {
      case 'message-start':
        items.push({ type: 'message', content: [], phase: event.phase })
        break
      case 'text-delta':
      case 'refusal-delta': {
        const [type, field] = event.type === 'text-delta' ? ['output_text', 'text'] : ['refusal', 'refusal']
        const content = last().content as Fields[]
        if (content.at(-1)?.type !== type) content.push({ type, [field!]: '' })
        content.at(-1)![field!] = `${content.at(-1)![field!]}${event.text}`
        break
      }
      case 'reasoning-start':
        items.push({ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: '' }] })
        break
      case 'reasoning-delta': {
        const [part] = last().content as Fields[]
        part!.text = `${part!.text}${event.text}`
        break
      }
      case 'summary-start':
        ;(last().summary as Fields[]).push({ type: 'summary_text', text: '' })
        break
      case 'summary-delta': {
        const part = (last().summary as Fields[]).at(-1)!
        part.text = `${part.text}${event.text}`
        break
      }
      case 'reasoning-seal':
        last().encrypted_content = event.opaque.data
        break
      case 'tool-call-start': {
        const type = event.tool === 'custom' ? 'custom_tool_call' : 'function_call'
        const field = event.tool === 'custom' ? 'input' : 'arguments'
        items.push({ type, name: event.name, namespace: event.namespace, [field]: '' })
        break
      }
      case 'tool-call-delta': {
        const item = call(event.call)
        const field = item.type === 'custom_tool_call' ? 'input' : 'arguments'
        item[field] = `${item[field]}${event.text}`
        break
      }
      default:
    }
  }
  return plainItems(items)
}
