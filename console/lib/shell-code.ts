import { shellWord } from '../../src/lib/anywhere/text.ts'

/** The variable that the client docs use, too. */
export const KEY_VARIABLE = 'MILLRACE_KEY'

export const exportKey = (key: string): string => `export ${KEY_VARIABLE}=${key}`

/** A curl command that runs as it is, with the key in the environment. */
export const curlCommand = (address: string, body: object): string =>
  `curl -N ${shellWord(address)} \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" -H "Content-Type: application/json" \\
  -d ${shellWord(JSON.stringify(body))}`

export const greetingCommand = (
  baseUrl: string,
  body: { readonly model: string; readonly stream?: true },
  hello: string,
): string => curlCommand(`${baseUrl}/chat/completions`, { ...body, messages: [{ role: 'user', content: hello }] })
