import { useState } from 'react'
import type { PlaygroundTurn } from '../../lib/api-client.ts'
import { KEY_VARIABLE } from '../../lib/shell-code.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useSession } from '../../queries/session.ts'
import { CodeBlock } from '../../ui/CopyButton.tsx'
import { choicesOf, Segmented } from '../../ui/inputs.tsx'
import type { PlaySettings, Protocol } from './play-settings.ts'

const LANGUAGES: readonly CodeLanguage[] = ['curl', 'python', 'node']

export function CodeTab({ settings, body }: { settings: PlaySettings; body: PlaygroundTurn['body'] | undefined }) {
  const { playground } = useMessages()
  const { session } = useSession()
  const [language, setLanguage] = useState<CodeLanguage>('curl')
  if (body === undefined) return <p className="py-6 text-center text-soft">{playground.codeNothing}</p>
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-sm text-soft">
          {playground.codeAbout} {settings.pays === 'wallet' ? playground.codeWallet : playground.codeBuilder}
        </p>
        <Segmented
          label={playground.tabs.code}
          value={language}
          options={choicesOf(LANGUAGES, playground.languages)}
          onPick={setLanguage}
        />
      </div>
      <CodeBlock
        label={playground.languages[language]}
        code={codeFor(language, {
          protocol: settings.protocol,
          baseUrl: session.base_url,
          body: withShortImages(body),
        })}
      />
    </div>
  )
}

const SHOWN_CHARACTERS = 60

/** A picture has a megabyte of text. */
const withShortImages = (body: object): object =>
  JSON.parse(JSON.stringify(body), (_, value: unknown) =>
    typeof value === 'string' && value.startsWith('data:image/') ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value,
  )

type CodeLanguage = 'curl' | 'python' | 'node'

interface Snippet {
  readonly protocol: Protocol
  readonly baseUrl: string
  readonly body: object
}

export function codeFor(language: CodeLanguage, snippet: Snippet): string {
  switch (language) {
    case 'curl':
      return curlFor(snippet)
    case 'python':
      return pythonFor(snippet)
    case 'node':
      return nodeFor(snippet)
  }
}

/** A quoted here-document keeps every character, and printed JSON never contains its end marker on a line. */
const curlFor = ({ protocol, baseUrl, body }: Snippet): string =>
  `curl -N ${baseUrl}/${protocol === 'chat' ? 'chat/completions' : 'responses'} \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" \\
  -H "Content-Type: application/json" \\
  --data-binary @- <<'JSON'
${JSON.stringify(body, null, 2)}
JSON`

const pythonFor = ({ protocol, baseUrl, body }: Snippet): string => {
  const [method, loop] =
    protocol === 'chat'
      ? [
          'chat.completions.create',
          `for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        print(chunk.choices[0].delta.content, end="", flush=True)`,
        ]
      : [
          'responses.create',
          `for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`,
        ]
  const options = Object.entries(body).map(([name, value]) => `    ${name}=${pythonLiteral(value, '    ')},`)
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(baseUrl)}, api_key=os.environ["${KEY_VARIABLE}"])
stream = client.${method}(
${options.join('\n')}
)
${loop}`
}

const nodeFor = ({ protocol, baseUrl, body }: Snippet): string => {
  const [method, loop] =
    protocol === 'chat'
      ? [
          'chat.completions.create',
          `for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
}`,
        ]
      : [
          'responses.create',
          `for await (const event of stream) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)
}`,
        ]
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)}, apiKey: process.env.${KEY_VARIABLE} })
const stream = await client.${method}(${nodeLiteral(body)})
${loop}`
}

/** A JSON value as a Python literal. JSON strings are valid Python strings. */
export function pythonLiteral(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((each) => pythonLiteral(each, inner))
    : definedEntries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonLiteral(each, inner)}`)
  const [open, close] = isList ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

/** A JSON value as a JavaScript literal. */
export function nodeLiteral(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((each) => nodeLiteral(each, inner))
    : definedEntries(value).map(([name, each]) => `${nameLiteral(name)}: ${nodeLiteral(each, inner)}`)
  const [open, close] = isList ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

const definedEntries = (value: object) => Object.entries(value).filter(([, each]) => each !== undefined)

/** Even quoted, `__proto__` would set the prototype. A computed name does not. */
const nameLiteral = (name: string): string =>
  name === '__proto__' ? '["__proto__"]' : /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
