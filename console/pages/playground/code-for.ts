import { nodeLiteral, pythonLiteral } from './literals.ts'
import type { Protocol } from './play-settings.ts'

export type CodeLanguage = 'curl' | 'python' | 'node'

interface Snippet {
  readonly protocol: Protocol
  readonly baseUrl: string
  readonly body: object
}

const KEY_VARIABLE = 'MILLRACE_KEY'

/** The request as a program would make it: the same body, with a key of one's own in the environment. */
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

/** A quoted here-document takes every character as it is, and no line of printed JSON is the word that ends it. */
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
