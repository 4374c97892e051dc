import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import { DEMO_YAML, problemsOf, sourcesOf, type World } from '../fixtures/config/config.ts'
import { createCertificate } from '../fixtures/providers/certificate.ts'
import { pages, textOf } from './source-files.ts'

interface Block {
  readonly page: string
  readonly text: string
}

const blocks: readonly Block[] = pages().flatMap((page) =>
  [...textOf(page).matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => ({ page, text })),
)

/** Files of other programs. */
const isForeign = ({ text }: Block): boolean => text.startsWith('# Continue')

const SIZES = 'context_tokens: 1000\n    max_output_tokens: 100'

/** A block shows what its page is about. What a whole file needs besides is added here. */
function wholeFile({ text }: Block): string {
  if (text.startsWith('lanes:')) {
    const upstream = '{ id: anthropic, wire: anthropic, base_url: https://api.anthropic.com/v1, api_key: a }'
    return `upstreams: [${upstream}]\nmodels:\n  - id: m\n    ${SIZES}\n${text.replace(/^(?=.)/gm, '    ')}`
  }
  const shown = text.replace(
    /^ +# and the rest, as for every model$/m,
    `    ${SIZES}\n    lanes: [{ upstream: demo, model: x }]`,
  )
  const models = /^models:/m.test(shown)
    ? ''
    : `models:\n  - { id: fast-coder, ${SIZES.replace(/\n +/, ', ')}, lanes: [{ upstream: demo, model: x }] }\n`
  const demo = /^upstreams:/m.test(shown) ? shown.replace(/^upstreams:\n/m, `${DEMO_YAML_ROW}`) : `${DEMO_YAML}${shown}`
  return `${demo}\n${models}`
}

/** Beside the upstreams of a block. */
const DEMO_YAML_ROW = 'upstreams:\n  - { id: demo, wire: demo }\n'

/** Providers that a page has shown before. */
const PROVIDERS = `upstreams:
  - { id: openai, wire: responses, base_url: https://api.openai.com/v1, api_key: a }
  - { id: claude, wire: anthropic, base_url: https://api.anthropic.com/v1, api_key: a }
`

const { cert, key } = createCertificate('llm.example.com')
const FILES = {
  '/srv/vertex-token': 'token',
  '/srv/providers.yaml': PROVIDERS,
  '/etc/millrace/cert.pem': cert,
  '/etc/millrace/key.pem': key,
}

/** With the pins of its imports, as `millrace check --pin` would write them. */
function worldOf(block: Block): World {
  const yaml = /^imports:/m.test(block.text) ? `include: [providers.yaml]\n${wholeFile(block)}` : wholeFile(block)
  const world = { yaml, environment: ENVIRONMENT, files: FILES }
  const pinned = loadConfig(sourcesOf(world), { pins: 'catalogue' })
  const lock = pinned.kind === 'loaded' && pinned.imports !== undefined ? pinned.imports.lock : ''
  return { ...world, files: { ...FILES, '/srv/millrace.lock.yaml': lock } }
}

/** Secrets that are checked for their form. */
const OF_A_FORM: Readonly<Record<string, string>> = {
  STRIPE_SECRET_KEY: 'sk_test_0123456789',
  STRIPE_WEBHOOK_SECRET: 'whsec_0123456789',
}

const ENVIRONMENT = Object.fromEntries(
  [
    ...blocks
      .map(({ text }) => text)
      .join('\n')
      .matchAll(/\$\{([A-Z_]+)\}/g),
  ].map(([, name = '']) => [name, OF_A_FORM[name] ?? 'secret']),
)

it.each(blocks.filter((block) => !isForeign(block)))('$page: a block of configuration loads: $text', (block) => {
  expect(problemsOf(worldOf(block))).toEqual([])
})

it('the pages show more than a few', () => {
  expect(blocks.length).toBeGreaterThan(20)
})
