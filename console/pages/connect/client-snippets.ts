import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { shellWord } from '../../../src/lib/anywhere/text.ts'
import { curlCommand, exportKey, KEY_VARIABLE } from '../../lib/shell-code.ts'
import type { Catalogue } from '../../messages/catalogue.ts'

export type ClientId = keyof Catalogue['connect']['names']
type LabelId = keyof Catalogue['connect']['labels']

/** A snippet is labelled with a file name or a message. */
export interface Snippet {
  readonly label: { readonly file: string } | { readonly message: LabelId }
  readonly code: string
}

export interface Target {
  readonly baseUrl: string
  readonly model: string
  readonly details: AnswerOf<'GET /models'>['items'][number]
  readonly kind: 'wallet' | 'builder'
  /** The key that the snippets contain; empty: a placeholder. */
  readonly key?: string
}

const PROMPT = 'Hello'

/** The snippets of docs/clients with the real address and the chosen model. */
export const CLIENT_SNIPPETS: Readonly<Record<ClientId, (target: Target) => readonly Snippet[]>> = {
  curl: (target) => [
    environment(target),
    {
      label: { message: 'chat' },
      code: curl(target, 'chat/completions', { messages: [{ role: 'user', content: PROMPT }] }),
    },
    { label: { message: 'responses' }, code: curl(target, 'responses', { input: PROMPT }) },
  ],
  python: (target) => [
    environment(target),
    { label: { message: 'install' }, code: 'pip install openai' },
    {
      label: { file: 'hello.py' },
      code: `import os
from openai import OpenAI

client = OpenAI(base_url=${quoted(target.baseUrl)}, api_key=os.environ["${KEY_VARIABLE}"])
answer = client.responses.create(model=${quoted(target.model)}, input="${PROMPT}")
print(answer.output_text, answer._request_id)`,
    },
  ],
  node: (target) => [
    environment(target),
    { label: { message: 'install' }, code: 'npm install openai' },
    {
      label: { file: 'hello.mjs' },
      code: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${quoted(target.baseUrl)}, apiKey: process.env.${KEY_VARIABLE} })
const answer = await client.responses.create({ model: ${quoted(target.model)}, input: '${PROMPT}' })
console.log(answer.output_text, answer._request_id)`,
    },
  ],
  aiSdk: (target) => [
    environment(target),
    { label: { message: 'install' }, code: 'npm install ai @ai-sdk/openai' },
    {
      label: { file: 'hello.mjs' },
      code: `import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'

const millrace = createOpenAI({ baseURL: ${quoted(target.baseUrl)}, apiKey: process.env.${KEY_VARIABLE} })
const { textStream } = streamText({ model: millrace.responses(${quoted(target.model)}), prompt: '${PROMPT}' })
for await (const text of textStream) process.stdout.write(text)`,
    },
  ],
  codex: (target) => [
    {
      label: { file: '~/.codex/config.toml' },
      code: `model = ${quoted(target.model)}
model_provider = "millrace"

[model_providers.millrace]
name = "Millrace"
base_url = ${quoted(target.baseUrl)}
env_key = "${KEY_VARIABLE}"
wire_api = "responses"
model_catalog_url = ${quoted(`${target.baseUrl}/models`)}`,
    },
    environment(target),
    { label: { message: 'run' }, code: 'codex' },
  ],
  opencode: (target) => [
    { label: { file: 'opencode.json' }, code: JSON.stringify(opencode(target), null, 2) },
    environment(target),
    { label: { message: 'run' }, code: 'opencode' },
  ],
  agents: ({ baseUrl, model, ...target }) => [
    {
      label: { file: 'aider' },
      code: `export OPENAI_API_BASE=${shellWord(baseUrl)} OPENAI_API_KEY=${keyOf(target)}
aider --model ${shellWord(`openai/${model}`)}`,
    },
    {
      label: { file: 'Continue: config.yaml' },
      code: `models:
  - name: ${quoted(model)}
    provider: openai
    model: ${quoted(model)}
    apiBase: ${quoted(baseUrl)}
    apiKey: ${keyOf(target)}`,
    },
    {
      label: { file: 'Cline: OpenAI Compatible' },
      code: `Base URL  ${baseUrl}\nAPI Key   ${keyOf(target)}\nModel ID  ${model}`,
    },
  ],
}

/** The key, or what stands for one. */
export const keyOf = ({ kind, key = '' }: Pick<Target, 'kind' | 'key'>): string => (key === '' ? `mr_${kind}_…` : key)

/** What a key looks like. Anything else could be a command in a line for a shell. */
export const isKey = (text: string): boolean => /^mr_(wallet|builder)_[\w-]{20,100}$/.test(text)

const environment = (target: Target): Snippet => ({
  label: { message: 'environment' },
  code: exportKey(keyOf(target)),
})

/** A JSON string is also valid in JavaScript, Python, YAML and TOML. */
const quoted = (text: string): string => JSON.stringify(text)

const curl = ({ baseUrl, model }: Target, path: string, body: object): string =>
  curlCommand(`${baseUrl}/${path}`, { model, stream: true, ...body })

/** OpenCode sends an effort on its side calls, which fails for these models. */
const thinks = ({ model, details }: Target): boolean =>
  details.efforts?.length !== 0 && !details.variants.includes(model)

const opencode = (target: Target): object => ({
  provider: {
    millrace: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Millrace',
      options: { baseURL: target.baseUrl, apiKey: `{env:${KEY_VARIABLE}}` },
      models: {
        [target.model]: {
          name: target.model,
          tool_call: true,
          reasoning: thinks(target),
          limit: { context: target.details.context_tokens, output: target.details.max_output_tokens },
        },
      },
    },
  },
  model: `millrace/${target.model}`,
  small_model: `millrace/${target.model}`,
})
