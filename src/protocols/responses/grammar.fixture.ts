import { expect } from 'vitest'
import type { Fields } from '../../lib/types.ts'
import { eventsIn } from './answers.fixture.ts'

const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** What of a part is said in which events. */
const WORDS: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.refusal': 'refusal',
  'response.reasoning_text': 'text',
  'response.reasoning_summary_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
}

/**
 * Reads a stream as the strictest client would: created first, numbers without gaps, one item at a time, each start with
 * its end, deltas that add up to what their end says, and no word of the provider's own ids. Returns the ended items.
 */
export function expectGrammar(bytes: Buffer, options: { readonly whole: boolean }): Fields[] {
  const events = eventsIn(bytes)
  if (events.length === 0 && !options.whole) return []
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress'])
  const items: Fields[] = []
  let item: Fields | undefined
  let part: { words: string; address: string; isOver: boolean } | undefined
  const addressOf = (event: Fields) =>
    JSON.stringify([event.item_id, event.output_index, event.content_index ?? event.summary_index ?? null])

  for (const event of events.slice(2)) {
    const type = String(event.type)
    const [, name, stage] = /^(.*)\.(delta|done)$/.exec(type) ?? []
    expect(event).not.toHaveProperty('obfuscation')
    if (type === 'response.output_item.added') {
      expect(item).toBeUndefined()
      expect(event.output_index).toBe(items.length)
      item = event.item as Fields
      part = undefined
    } else if (type === 'response.output_item.done') {
      const done = event.item as Fields
      expect([done.id, done.type, done.call_id, event.output_index]).toEqual([
        item?.id,
        item?.type,
        item?.call_id,
        items.length,
      ])
      expect(part === undefined || part.isOver).toBe(true)
      items.push(done)
      item = undefined
    } else if (type === 'response.content_part.added' || type === 'response.reasoning_summary_part.added') {
      expect(part === undefined || part.isOver).toBe(true)
      expect([event.item_id, event.output_index]).toEqual([item?.id, items.length])
      part = { words: '', address: addressOf(event), isOver: false }
    } else if (type === 'response.content_part.done' || type === 'response.reasoning_summary_part.done') {
      const { type: kind, text, refusal } = event.part as Fields
      expect([addressOf(event), kind === 'refusal' ? refusal : text]).toEqual([part?.address, part?.words])
      part!.isOver = true
    } else if (name !== undefined && name in WORDS) {
      const isCall = String(item?.type).endsWith('_call')
      if (isCall) part ??= { words: '', address: addressOf(event), isOver: false }
      expect([part?.address, event.item_id]).toEqual([addressOf(event), item?.id])
      if (stage === 'delta') {
        expect(part?.isOver).toBe(false)
        part!.words += String(event.delta)
      } else {
        expect(event[WORDS[name]!]).toBe(part?.words)
        if (isCall) part!.isOver = true
      }
    } else if (type === 'response.output_text.annotation.added') {
      expect(addressOf(event)).toBe(part?.address)
    } else {
      expect([...LAST]).toContain(type)
      expect(event).toBe(events.at(-1))
      expect((event.response as Fields).output).toEqual(items)
    }
  }
  expect(LAST.has(String(events.at(-1)?.type))).toBe(options.whole)
  expect(item === undefined || !options.whole).toBe(true)
  return items
}
