/** The name that the pages on clients use, too. */
const VARIABLE = 'MILLRACE_KEY'

/** For a shell, whatever is in the text. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export const environmentLine = (secret: string): string => `export ${VARIABLE}=${secret}`

/** One request that shows that the key works, with nothing in it that has to be changed first. */
export function curlCommand(baseUrl: string, model: string, greeting: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: greeting }] })
  return [
    `curl ${baseUrl}/chat/completions \\`,
    `  -H "Authorization: Bearer $${VARIABLE}" -H "Content-Type: application/json" \\`,
    `  -d ${quoted(body)}`,
  ].join('\n')
}
