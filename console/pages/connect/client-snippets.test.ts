import { describe, expect, it } from 'vitest'
import { CLIENT_SNIPPETS, type Target } from './client-snippets.ts'

const DETAILS: Target['details'] = {
  id: 'fast-coder',
  variants: ['fast-coder-high'],
  efforts: ['low', 'high'],
  inputs: ['text'],
  context_tokens: 200_000,
  max_output_tokens: 8_192,
  kinds: ['wallet'],
  price: null,
  available: true,
  demo: false,
  day: { success_percent: null, first_ms: null, tokens_per_second: null },
}
const TARGET: Target = { baseUrl: 'http://127.0.0.1:4600/v1', model: 'fast-coder', details: DETAILS, kind: 'wallet' }

const clients = Object.entries(CLIENT_SNIPPETS)
const textFor = (target: Target, of: (typeof clients)[number][1]) =>
  of(target)
    .map(({ code }) => code)
    .join('\n')

describe('the snippets of every client', () => {
  it.each(clients)('%s contain the address, the model and a key placeholder', (_, snippets) => {
    const text = textFor(TARGET, snippets)
    for (const part of [TARGET.baseUrl, 'fast-coder', 'mr_wallet_…']) expect(text).toContain(part)
    expect(textFor({ ...TARGET, kind: 'builder' }, snippets)).toContain('mr_builder_…')
  })
})

describe('curl', () => {
  it('escapes an apostrophe in a model name', () => {
    const text = textFor({ ...TARGET, model: `it's` }, CLIENT_SNIPPETS.curl)
    const body = /-d '(.*)'$/m.exec(text)?.[1]?.replaceAll(`'\\''`, `'`)
    expect(JSON.parse(body ?? '')).toMatchObject({ model: `it's`, stream: true })
  })
})

describe('OpenCode', () => {
  const modelOf = (target: Target) =>
    JSON.parse(CLIENT_SNIPPETS.opencode(target)[0]?.code ?? '').provider.millrace.models[target.model]

  it('gets the limits of the model', () => {
    expect(modelOf(TARGET)).toMatchObject({ reasoning: true, limit: { context: 200_000, output: 8_192 } })
  })

  it('sends no effort if the id includes one or the model has none', () => {
    expect(modelOf({ ...TARGET, model: 'fast-coder-high' }).reasoning).toBe(false)
    expect(modelOf({ ...TARGET, details: { ...DETAILS, efforts: [] } }).reasoning).toBe(false)
    expect(modelOf({ ...TARGET, details: { ...DETAILS, efforts: null } }).reasoning).toBe(true)
  })
})

it('Codex gets the absolute URL of the model list', () => {
  expect(textFor(TARGET, CLIENT_SNIPPETS.codex)).toContain('model_catalog_url = "http://127.0.0.1:4600/v1/models"')
})
