import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parsePricePerMillion } from '../../src/model/money.ts'
import { textOf } from './source-files.ts'

const PATH = 'src/catalog/known-models.json'
const snapshot: unknown = JSON.parse(readFileSync(new URL(`../../${PATH}`, import.meta.url), 'utf8'))

const DAY = /^\d{4}-\d{2}-\d{2}$/
const tokens = z.int().min(1).max(100_000_000)
const rate = z.string().refine((written) => parsePricePerMillion(written) !== undefined)
const rates = { input: rate, cached_input: rate.optional(), cache_write: rate.optional(), output: rate }

const modelShape = z.strictObject({
  also: z.array(z.string().min(1)).min(1).optional(),
  context_tokens: tokens.optional(),
  max_output_tokens: tokens.optional(),
  inputs: z.array(z.enum(['text', 'image', 'file'])).optional(),
  price: z
    .strictObject({ ...rates, tiers: z.array(z.strictObject({ above_input_tokens: tokens, ...rates })).optional() })
    .optional(),
  price_until: z.string().regex(DAY).optional(),
  traits: z.string().optional(),
})

const traitsShape = z.strictObject({
  source: z.string().min(20),
  efforts: z.record(z.string().regex(/^[a-z]+$/), z.union([z.int().min(0), z.string()])).optional(),
  sampling: z.boolean().optional(),
  forced_tool_choice: z.boolean().optional(),
  json_schema: z.enum(['native', 'tool', 'none']).optional(),
  signed_calls: z.boolean().optional(),
  system_prompt: z.boolean().optional(),
})

const shape = z.strictObject({
  as_of: z.string().regex(DAY),
  prices_from: z.string().min(1),
  providers: z.record(
    z.string(),
    z.strictObject({
      wires: z.array(z.enum(['chat', 'responses', 'anthropic', 'gemini'])).min(1),
      traits: z.record(z.string(), traitsShape),
      models: z.record(z.string(), modelShape),
    }),
  ),
})

const facts = shape.parse(snapshot)
const providers = Object.entries(facts.providers)

/** How a wire may be told of an effort, besides a number of tokens where it takes one. */
const EFFORT_WORDS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['disabled', 'between_tools', 'low', 'medium', 'high', 'xhigh', 'max'],
  gemini: ['minimal', 'low', 'medium', 'high'],
  chat: ['disabled', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'default'],
  responses: ['disabled', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'default'],
}
const TAKES_TOKENS = ['anthropic', 'gemini']

const LADDER = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra']

describe('the snapshot of known models', () => {
  it.each(providers)('%s: every id is there once, under whatever name', (_, { models }) => {
    const ids = Object.entries(models).flatMap(([id, { also = [] }]) => [id, ...also])
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
    expect(ids.filter((id) => !/^[^\s\p{C}]{1,200}$/u.test(id))).toEqual([])
  })

  it.each(providers)('%s: every group of traits is used, and every one that is used is there', (_, provider) => {
    const used = Object.values(provider.models).flatMap(({ traits }) => traits ?? [])
    expect([...new Set(used)].sort()).toEqual(Object.keys(provider.traits).sort())
  })

  it.each(providers)('%s: every effort is one of ours, and its wires know how it is said', (_, { wires, traits }) => {
    for (const [name, { efforts = {} }] of Object.entries(traits)) {
      const ours = Object.keys(efforts)
      expect(ours, name).toEqual(LADDER.filter((effort) => ours.includes(effort)))
      for (const spelling of Object.values(efforts)) {
        const knows = (wire: string) =>
          typeof spelling === 'number' ? TAKES_TOKENS.includes(wire) : EFFORT_WORDS[wire]?.includes(spelling)
        expect(
          wires.filter((wire) => !knows(wire)),
          `${name}: ${spelling}`,
        ).toEqual([])
      }
    }
  })

  it.each(providers)('%s: prices are in order, and a cached token is never the dearer one', (_, { models }) => {
    for (const [id, { price, context_tokens: context = Infinity }] of Object.entries(models)) {
      const steps = price === undefined ? [] : [price, ...(price.tiers ?? [])]
      for (const { input, cached_input: cached = input } of steps) {
        expect(parsePricePerMillion(cached)! <= parsePricePerMillion(input)!, id).toBe(true)
      }
      const thresholds = (price?.tiers ?? []).map((tier) => tier.above_input_tokens)
      expect(thresholds, id).toEqual([...new Set(thresholds)].sort((a, b) => a - b))
      expect(Math.max(0, ...thresholds), id).toBeLessThanOrEqual(context)
    }
  })

  it('is small enough to be read before it is merged', () => {
    expect(Buffer.byteLength(textOf(PATH))).toBeLessThan(150_000)
  })

  it('knows dialects only that the configuration knows', () => {
    const known = JSON.stringify(JSON.parse(textOf('schema/millrace.schema.json')).properties.upstreams)
    expect(providers.filter(([dialect]) => !known.includes(`"${dialect}"`))).toEqual([])
  })

  it('is described by docs/operate/catalogue.md: the day, the dialects, and how many models of each', () => {
    const page = textOf('docs/operate/catalogue.md')
    expect(page).toContain(facts.as_of)
    const rows = [...page.matchAll(/^\| `([a-z]+)` \| ([a-z, `]+) \| (\d+) \|/gm)].map(([, ...cells]) => cells)
    const expected = providers.map(([dialect, { wires, models }]) => [
      dialect,
      wires.map((wire) => `\`${wire}\``).join(', '),
      String(Object.keys(models).length),
    ])
    expect(rows).toEqual(expected)
  })
})
