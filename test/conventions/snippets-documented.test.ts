import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { CLIENT_SNIPPETS, type ClientId, type Target } from '../../console/pages/connect/client-snippets.ts'

/** The example of the pages on clients, as a person would choose it in the console. */
const target = (model: string): Target => ({
  ...{ baseUrl: 'http://127.0.0.1:4600/v1', model, kind: 'wallet' },
  details: {
    ...{ id: model, variants: [], efforts: null, inputs: ['text'], context_tokens: 200_000, max_output_tokens: 8192 },
    ...{
      kinds: ['wallet'],
      price: null,
      available: true,
      day: { success_percent: null, first_ms: null, tokens_per_second: null },
      demo: false,
    },
  },
})

const PAGES: readonly (readonly [client: ClientId, page: string, model: string])[] = [
  ['curl', 'curl.md', 'demo'],
  ['python', 'openai-python.md', 'fast-coder'],
  ['node', 'openai-node.md', 'fast-coder'],
  ['aiSdk', 'ai-sdk.md', 'fast-coder'],
  ['codex', 'codex.md', 'fast-coder'],
  ['opencode', 'opencode.md', 'fast-coder'],
  ['agents', 'other-agents.md', 'fast-coder'],
]

/** What may differ: kinds of quotes, comments, blank lines, and how JSON is laid out. */
const plain = (code: string): string =>
  code
    .replaceAll('"', "'")
    .replace(/^\s*#.*$| +#.*$/gm, '')
    .replace(/\s+/g, ' ')
    .replace(/([{[(]) | (?=[}\])])/g, '$1')
    .trim()

/** What runs the program and what installs it stands in sentences there. */
const isSetting = ({ label }: ReturnType<(typeof CLIENT_SNIPPETS)['curl']>[number]): boolean =>
  'file' in label ? !label.file.startsWith('Cline') : label.message === 'chat' || label.message === 'responses'

describe('docs/clients', () => {
  it.each(PAGES)('say of %s in %s what the console shows', (client, page, model) => {
    const text = plain(readFileSync(new URL(`../../docs/clients/${page}`, import.meta.url), 'utf8'))
    const settings = CLIENT_SNIPPETS[client](target(model)).filter(isSetting)
    expect(settings).not.toEqual([])
    for (const { code } of settings) expect(text).toContain(plain(code))
  })

  it('have a page for every program that the console has settings for', () => {
    expect(PAGES.map(([client]) => client).sort()).toEqual(Object.keys(CLIENT_SNIPPETS).sort())
  })
})
