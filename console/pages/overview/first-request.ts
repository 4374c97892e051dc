/** For a shell, whatever is in the text. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

interface FirstRequest {
  readonly baseUrl: string
  readonly model: string
  readonly greeting: string
}

/** Two lines for a terminal: the key, to be filled in, and a request that shows its answer as it comes. */
export function firstRequest({ baseUrl, model, greeting }: FirstRequest): string {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: greeting }] })
  return [
    'export MILLRACE_KEY=…',
    `curl -N ${baseUrl}/chat/completions \\`,
    '  -H "Authorization: Bearer $MILLRACE_KEY" -H "Content-Type: application/json" \\',
    `  -d ${quoted(body)}`,
  ].join('\n')
}
