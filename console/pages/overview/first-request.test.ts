import { expect, it } from 'vitest'
import { firstRequest } from './first-request.ts'

it('asks the server that it was shown by, with nothing to change but the key', () => {
  const text = firstRequest({ baseUrl: 'http://127.0.0.1:4600/v1', model: 'demo', greeting: 'Hello' })
  expect(text.split('\n')).toEqual([
    'export MILLRACE_KEY=…',
    'curl -N http://127.0.0.1:4600/v1/chat/completions \\',
    '  -H "Authorization: Bearer $MILLRACE_KEY" -H "Content-Type: application/json" \\',
    `  -d '{"model":"demo","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`,
  ])
})

it('keeps a greeting together in a shell, whatever is in it', () => {
  const greeting = `It's "me", $HOME \\ and \`all\``
  const text = firstRequest({ baseUrl: 'http://127.0.0.1:4600/v1', model: 'demo', greeting })
  const argument = text.slice(text.indexOf("-d '") + 4, -1)
  // A shell ends the quotes, takes one quote for itself, and opens them again; anything else between them stays as it is.
  expect(argument.replaceAll(`'\\''`, '')).not.toContain("'")
  expect(JSON.parse(argument.replaceAll(`'\\''`, "'")).messages[0].content).toBe(greeting)
})
